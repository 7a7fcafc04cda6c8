__declspec(dllimport) int plugin_call(int value);
