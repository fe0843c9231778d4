# A new file has what the umask leaves; one that is replaced keeps its permissions, read-only ones too.
tenon sample -q --no-sync m.safetensors && tenon sample -q --no-sync m.thin && tenon sample -q --no-sync m.apr
perm() { stat -c '%a %n' "$@"; }
umask 027
tenon convert -q --no-sync m.safetensors n.bpk
tenon get m.safetensors output.weight -o n.raw
tenon split -q --no-sync m.safetensors n.set --max-tensors 20
tenon unpack -q --no-sync m.thin n.parts
tenon stamp -q --no-sync m.apr n.apr --license MIT
tenon repack -q --no-sync m.thin n.thin
tenon convert -q --resume --no-sync m.safetensors r.thin
tenon profile -q m.thin --target-vram 1G -o n.json >/dev/null
perm n.bpk n.raw n.set n.set/* n.parts n.parts/pages n.parts/manifest.json n.parts/pages/output.weight.bin n.apr n.thin r.thin n.json
chmod 604 n.*.* n.bpk n.raw n.apr n.thin r.thin n.json 2>/dev/null
chmod 400 n.bpk
tenon convert -q --no-sync m.safetensors n.bpk
tenon get m.safetensors output.weight -o n.raw
tenon stamp -q --no-sync m.apr n.apr --license MIT --force
tenon repack -q --no-sync m.thin n.thin
tenon convert -q --resume --no-sync m.safetensors r.thin
tenon profile -q m.thin --target-vram 1G -o n.json >/dev/null
tenon meta -q set m.apr a='something longer than there was' && chmod 640 m.apr && tenon meta -q set m.apr a=b
perm n.bpk n.raw n.apr n.thin r.thin n.json m.apr
