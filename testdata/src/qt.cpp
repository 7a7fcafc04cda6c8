// Containers of Qt 5 and 6: empty, full, and in one another (qtbase5-dev, qt6-base-dev).
#include <QDateTime>
#include <QHash>
#include <QList>
#include <QMap>
#include <QSet>
#include <QSharedPointer>
#include <QString>
#include <QVariant>
#include <QVector>

struct Wide {
	double a, b, c;
};

struct Own {
	short number;
};

void strangers(int n); // qt_strangers.cpp

int main(int argc, char **)
{
	QString text = QString::fromUtf8("grün"), null;
	QByteArray bytes("bytes"), nobytes;
	QList<int> list{1, 2, 3}, nolist;
	QList<QString> names{"x", "y"};
	QList<Wide> wides{{1, 2, 3}};
	QList<Own> own{{4}};
	QVector<int> vector{4, 5};
	QMap<int, QString> map{{1, "one"}, {2, "two"}, {3, "three"}}, nomap;
	QHash<int, int> hash{{1, 1}, {2, 4}}, nohash;
	QSet<int> set{7};
	QVariant number(5), string(text), invalid, real(2.5), flag(true), bytearray(bytes);
	QSharedPointer<int> shared(new int(9)), copy = shared, noshared;
	QDateTime when = QDateTime::fromMSecsSinceEpoch(1763820000123LL, Qt::UTC), never;
	QDate day(2025, 11, 22), noday;
	QTime time(14, 0, 1);
	QChar letter('q');
	QMap<int, QList<int>> nested{{1, {1, 2}}};
	strangers(argc);
}
