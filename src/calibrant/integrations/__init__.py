"""calibrant inside other libraries; each module is imported only when it is used."""
