"""Tables as Markdown."""


def table(title, head, rows):
    """Return a titled Markdown table; the first column is text, the others are numbers."""
    lines = [
        f"### {title}",
        "",
        "| " + " | ".join(head) + " |",
        "|---|" + "---:|" * (len(head) - 1),
        *("| " + " | ".join(str(value) for value in row) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"
