// The public header as C++17 sees it: nothing before it, twice, and structs that take {}.
#include "tenon.h"
#include "tenon.h"

int main()
{
	tn_open_options open{};
	tn_convert_options convert{};
	tn_error err{};
	tn_file *file = nullptr;

	convert.write = tn_write_options{};
	if (tn_open(&file, "model.safetensors", &open, &err) != TN_OK)
		return 1;
	tn_close(file);
	return convert.dry_run ? 1 : 0;
}
