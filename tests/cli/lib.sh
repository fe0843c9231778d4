# What the cases share: small files made by hand.

# bytes N VALUE: VALUE as N bytes, the lowest first.
bytes() {
	n=$1 v=$2
	while [ "$n" -gt 0 ]; do
		printf "\\$(printf %03o $((v % 256)))"
		v=$((v / 256)) n=$((n - 1))
	done
}

# safetensors HEADER: the length of the header and the header, padded to a multiple of 8; the data is to follow.
safetensors() {
	header=$1
	while [ $(($(printf %s "$header" | wc -c) % 8)) -ne 0 ]; do
		header="$header "
	done
	bytes 8 "$(printf %s "$header" | wc -c)"
	printf %s "$header"
}

# Two tensors of plain numbers: x, f32 [2, 3], 0 to 5; and n, i64 [2], 7 and -1.
numbers() {
	safetensors '{"__metadata__":{"format":"pt","author":"A. Writer"},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"n":{"dtype":"I64","shape":[2],"data_offsets":[24,40]}}'
	for f in 0 1065353216 1073741824 1077936128 1082130432 1084227584; do bytes 4 $f; done
	bytes 8 7
	printf '\377\377\377\377\377\377\377\377'
}

# Names and values that must not reach a terminal as they are.
hostile() {
	safetensors '{"__metadata__":{"e\u001b[31m":"a\u001b]0;title\u0007\u202eb\\ \"c\"\n"},"a\nb":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"日本/重み":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"\u001b[2J\\":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}'
	printf abc
}

# status COMMAND...: runs it and tells its exit status.
status() {
	"$@"
	echo "status $?"
}

# A burnpack file of one tensor whose payload is a byte short of its quantisation scheme.
short_payload() {
	printf 'NRUB'
	bytes 2 1
	bytes 4 106
	printf '\241\147tensors\241\141q\243\145dtype\241\146QFloat\245\145value\143Q8S\145store\146Native'
	printf '\144mode\151Symmetric\146tensor\366\145block\366\145shape\202\002\003\154data_offsets\202\000\011'
	head -c 140 /dev/zero
	printf 123456789
}

# three_shards DIR: the tensors a to c, u8 [4], in three shards and their index.
three_shards() {
	safetensors '{"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]},"c":{"dtype":"U8","shape":[4],"data_offsets":[8,12]}}' >whole.safetensors
	printf aaaabbbbcccc >>whole.safetensors
	tenon split -q whole.safetensors "$1" --max-tensors 1 --no-sync
}

# checkpoint DIR [TENSOR]: a decoder of one layer in DIR/model.safetensors and its config.json; without that tensor of the
# layer when it is named.
checkpoint() {
	mkdir "$1"
	header='{"__metadata__":{"format":"pt"}' off=0
	for t in model.embed_tokens.weight:4,2 model.norm.weight:2 lm_head.weight:4,2 input_layernorm.weight:2 \
		self_attn.q_proj.weight:2,2 self_attn.k_proj.weight:2,2 self_attn.v_proj.weight:2,2 self_attn.o_proj.weight:2,2 \
		post_attention_layernorm.weight:2 mlp.gate_proj.weight:4,2 mlp.up_proj.weight:4,2 mlp.down_proj.weight:2,4; do
		name=${t%:*} shape=${t#*:}
		[ "$name" = "$2" ] && continue
		case $name in model.* | lm_head.*) ;; *) name=model.layers.0.$name ;; esac
		n=$((4 * $(echo "$shape" | tr , '*')))
		header="$header,\"$name\":{\"dtype\":\"F32\",\"shape\":[$shape],\"data_offsets\":[$off,$((off + n))]}"
		off=$((off + n))
	done
	safetensors "$header}" >"$1/model.safetensors"
	head -c $off /dev/zero >>"$1/model.safetensors"
	cat >"$1/config.json" <<-END
		{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":2,"num_hidden_layers":1,
		"num_attention_heads":2,"num_key_value_heads":2,"rms_norm_eps":1e-05,"torch_dtype":"float32"}
	END
	echo '{}' >"$1/tokenizer.json"
}
