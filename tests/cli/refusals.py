"""What a refusal looks like."""


def refused(result, *words):
    """Require a message with these words, exit code 2 and no traceback."""
    assert result.exit_code == 2, result.stdout
    assert result.stderr.splitlines()[-1].startswith("calibrant: error:"), result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
