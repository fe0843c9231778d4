# A file beyond the limit of the shell is told, and nothing of it stays.
(
	ulimit -f 100; LLVM_PROFILE_FILE=/dev/null; export LLVM_PROFILE_FILE # a build that counts what runs writes nothing then
	status tenon sample -q --no-sync big.bpk
)
tenon sample -q --no-sync small.bpk
(
	ulimit -f 100; LLVM_PROFILE_FILE=/dev/null; export LLVM_PROFILE_FILE
	status tenon convert -q --no-sync small.bpk big.safetensors
)
ls -A
