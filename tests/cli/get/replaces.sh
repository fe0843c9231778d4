# The new file has the old one's permissions, a link stays a link, nothing is left behind.
numbers >n.safetensors
echo old >real && chmod 640 real && ln -s real link
tenon get n.safetensors n -o link
ls -l real link | sed 's/ .* \(real\|link\)/ \1/'
wc -c <real && ls
