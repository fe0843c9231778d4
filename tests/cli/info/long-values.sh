long=0123456789012345678901234567890123456789012345678901234567890123456789
safetensors "{\"__metadata__\":{\"format\":\"pt\",\"long\":\"$long\",\"wide\":\"日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語\"}}   " >l.safetensors
tenon info l.safetensors && tenon info -v l.safetensors
