# A list that somebody else spelled: other members, other order, names with every escape, in or out of the first plane.
safetensors '{"a\"\\/\t\n\u0008\u000c\r":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"größe 重み":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"🧠":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}' >n.safetensors
printf abc >>n.safetensors
digest() { tenon hash n.safetensors | sed -n "$1s/^\\\\*\\([0-9a-f]*\\) .*/\\1/p"; }
a=$(digest 1) b=$(digest 2) c=$(digest 3) total=$(digest '$')
list() { printf '%s' "$1" >list.json; status tenon hash n.safetensors --check list.json 2>&1; }

list " { \"made\" : {\"by\": [ ], \"at\": [1, -2.5e3, true, null, \"x\\ny\"], \"in\": {}, \"on\": {\"a\": {\"b\": []}}},
	\"total\": \"$total\", \"tensors\" : [
	{\"digest\": \"$c\", \"name\": \"\\uD83e\\udde0\", \"size\": 1},
	{\"name\": \"a\\\"\\\\\\/\\t\\n\\b\\f\\r\", \"digest\": \"$a\"},
	{\"name\": \"gr\\u00f6\\u00dFe \\u91cd\\u307f\", \"digest\": \"$b\", \"tags\": [[], {\"of\": [1]}]} ] } "
list "{\"total\": \"$total\", \"tensors\": []}"
list '{}'

# None of these is a list.
one() { list "{\"total\": \"$total\", \"tensors\": [{\"name\": $1, \"digest\": \"$a\"}]}"; }
one '"\ud83e"'
one '"\ud83ex"'
one '"\ud83e\u0041"'
one '"\ud83e\u12"'
one '"\udde0\udde0"'
one '"\u12g4"'
one '"\q"'
one '"open'
one '3'
list "{\"total\": \"$total\", \"tensors\": [{\"name\": \"x\"}]}"
list "{\"total\": \"$total\", \"tensors\": {}}"
list "{\"total\": \"$total\", \"tensors\": [] } more"
list "{\"total\": \"short\", \"tensors\": []}"
list "{\"total\": \"$total\", \"x\": [1, }"
list "{\"total\": \"$total\", \"x\": }"
list "{\"total\": \"$total\", \"x\" 1}"
list "{\"total\": \"$total\", \"x\": $(printf '%070d' 0 | tr 0 '[')"
