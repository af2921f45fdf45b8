"""The loops behind `calibrant.forecasters.rivals`."""
