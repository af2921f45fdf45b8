"""calibrant inside other libraries; each module is imported only when it is used."""

# By how much rounding may carry a model's probability out of [0, 1]; many models
# compute with 32 bits.
ROUNDING = 1e-6
