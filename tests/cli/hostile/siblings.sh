# What lies beside a model, or in its folder, may be anything: none is waited for.
checkpoint one && rm one/tokenizer.json && mkfifo one/tokenizer.json
timeout 20 tenon convert one one.thin --no-sync 2>&1 || echo "status $?"
rm one/config.json && mkfifo one/config.json
timeout 20 tenon convert one one.thin --no-sync 2>&1 || echo "status $?"
three_shards set
mkfifo set/model-00002-of-00003.safetensors.sha256 set/more.safetensors
timeout 20 tenon verify set || echo "status $?"
rm set/model-00002-of-00003.safetensors && mkfifo set/model-00002-of-00003.safetensors
timeout 20 tenon ls set 2>&1 || echo "status $?"
timeout 20 tenon verify set || echo "status $?"
rm set/model.safetensors.index.json && mkfifo set/model.safetensors.index.json
timeout 20 tenon ls set 2>&1 || echo "status $?"
tenon sample -q --no-sync p.thin && tenon unpack -q --no-sync p.thin parts
rm parts/pages/output.weight.bin && mkfifo parts/pages/output.weight.bin
timeout 20 tenon pack parts/manifest.json parts/pages q.thin --no-sync 2>&1 || echo "status $?"
mkfifo .r.thin.partial
timeout 20 tenon convert --resume p.thin r.thin --no-sync 2>&1 || echo "status $?"
rm .r.thin.partial && echo precious >victim && ln -s victim .r.thin.partial
timeout 20 tenon convert --resume p.thin r.thin --no-sync 2>&1 || echo "status $?"
cat victim
