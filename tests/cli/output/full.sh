# A disk that is full is told, and is no success.
numbers >n.safetensors
tenon ls n.safetensors >/dev/full
echo "status $?"
tenon get n.safetensors n -o /dev/full
echo "status $?"
