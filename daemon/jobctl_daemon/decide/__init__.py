"""Pure decisions: what a service read goes in, what the store will write comes out. No I/O, no clock."""
