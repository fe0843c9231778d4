checkpoint ck mlp.gate_proj.weight
status tenon convert ck a.thin
checkpoint other
echo '{"num_hidden_layers":1,' >other/config.json
status tenon convert other a.thin
status tenon convert other a.bpk --config elsewhere.json
status tenon convert other a.thin --config elsewhere.json
status tenon convert other a.thin --resume --in-place
ls
