"""Files for the command line to read."""


def written(rows, path):
    """Write a data frame as CSV or Parquet, as the name says; return the path."""
    if path.suffix == ".csv":
        rows.to_csv(path, index=False)
    else:
        rows.to_parquet(path)
    return path
