tenon sample -q s.safetensors
for by in name size offset; do
	echo "by $by" && tenon ls s.safetensors --sort $by --limit 4
done
