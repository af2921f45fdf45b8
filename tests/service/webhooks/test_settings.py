"""The settings of webhooks: where they come from, what is refused, and that no secret is shown."""

import pytest

from calibrant.service.settings import Settings
from calibrant.service.webhooks.policy import Policy
from calibrant.service.webhooks.secrets import key_of
from service.webhooks.receiver import SECRET


def test_settings_of_webhooks(tmp_path):
    file = tmp_path / "calibrant.toml"
    file.write_text(
        f'webhooks = ["https://a.example/x", "http://10.0.0.7:9/y"]\nwebhook_secret = "{SECRET}"\n'
        'webhook_alarms = ["raw"]\nwebhook_cooldown = "15min"\nwebhook_reset = "end"\n'
    )
    settings, sources = Settings.read({}, {}, file)
    webhooks = settings.alerts()
    assert webhooks.urls == ("https://a.example/x", "http://10.0.0.7:9/y")
    assert webhooks.keys == (key_of(SECRET),)
    assert webhooks.policy == Policy(("raw",), 900.0, "end")
    shown = "\n".join(settings.lines(sources)) + repr(settings)
    assert "https://a.example/..." in shown
    assert SECRET not in shown
    assert "/x" not in shown
    environment = {"CALIBRANT_WEBHOOKS": "https://b.example/, https://c.example/"}
    flags = {"webhooks": ["https://d.example/"]}
    assert Settings.read({}, environment, file)[0].webhooks[1] == "https://c.example/"
    assert Settings.read(flags, environment, file)[0].webhooks == ("https://d.example/",)
    with pytest.raises(ValueError, match="need a secret"):
        Settings.read(flags, {})


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("webhooks", "ftp://a.example/", "https://"),
        ("webhooks", "https:///path", "https://"),
        ("webhooks", "https://a.example/#part", "https://"),
        ("webhooks", "https://a.example/a b", "https://"),
        ("webhooks", ["https://a.example/"] * 11, "at most 10"),
        ("webhooks", 5, "a list of strings"),
        ("webhook_secret", "hunter2", "whsec_"),
        ("webhook_secret", "whsec_hunter2", "base64"),
        (
            "webhook_alarms",
            "calibrated,loud",
            "calibrated, raw, calibrated_keys, raw_keys, outcomes",
        ),
        ("webhook_cooldown", "soon", "12h"),
        ("webhook_reset", "never", "window, end"),
    ],
)
def test_bad_settings_are_refused_in_words(name, value, allowed):
    with pytest.raises(ValueError, match=f"^{name} must be") as refused:
        Settings.read({name: value}, {})
    assert allowed in str(refused.value)
    assert "hunter2" not in str(refused.value)
