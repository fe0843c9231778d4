# The envelope brings types back that safetensors has none for.
tenon sample -q s.safetensors && tenon info s.safetensors
