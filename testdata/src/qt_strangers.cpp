// Classes with the names of Qt's and other members.
struct QString {
	const char *d;
	int size;
};
struct QChar {
	int ucs;
};
struct QDate {
	long days;
};
struct QTime {
	long mds;
};
struct QVariant {
	struct {
		int type;
	} d;
};
template <class T> struct QList {
	T *first;
	int size;
};
template <class T> struct QHash {
	T *d;
};
template <class T> struct QMap {
	struct {
		int size;
	} *d;
};

void strangers(int n)
{
	QString text{"text", 4};
	QChar letter{65};
	QDate day{n};
	QTime time{n};
	QVariant variant{{2}};
	QList<int> list{&n, 1};
	QHash<int> hash{&n};
	QMap<int> map{nullptr};
	*(volatile int *)nullptr = n;
}
