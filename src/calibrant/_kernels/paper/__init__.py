"""The paper's algorithms, and Zoom: the loops behind `calibrant.forecasters`."""
