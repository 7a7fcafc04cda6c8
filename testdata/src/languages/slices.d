// What values of D look like: slices, strings, associative arrays.
module slices;
import core.stdc.stdlib;

class Base { int a = 1; }

void look(string s, int[] list, Base b)
{
    wstring wide = "wide"w;
    string[] names = ["a", "bc"];
    int[] none;
    void[] bytes = list;
    int[string] ages = ["one" : 1];
    string[int] back = [1 : "x"];
    int[int] nothing;
    if (list.length) abort();
    look(names[0], none, b);
    wide = null; bytes = null; ages = null; back = null; nothing = null;
}

void main() { look("param", [9, 8], new Base); }
