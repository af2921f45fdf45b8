"""The rule for numbers: residuals, the mixture of quantiles, the net, and the rounds themselves."""
