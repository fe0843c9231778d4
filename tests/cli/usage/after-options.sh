# What stands behind "--" is no option, whatever it is called.
tenon sample -q m.bpk && mv m.bpk ./--json
tenon ls --filter 'token_k*' -- --json
# A format may be named by its extension.
mv ./--json m && tenon ls m --from .bpk --filter 'token_k*' && status tenon ls m --from gguf
