"""The client story's steps with kafka-python; the line format is in record_test.go.

    story.py ADDR create TOPIC PARTITIONS
    story.py ADDR produce TOPIC CODEC            records on standard input
    story.py ADDR consume TOPIC GROUP MEMBERS N  deliveries on standard output
"""
import sys
import threading
from base64 import b64decode, b64encode

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer


def create(addr, topic, partitions):
    admin = KafkaAdminClient(bootstrap_servers=addr)
    admin.create_topics({topic: {"num_partitions": int(partitions), "replication_factor": 1}})
    admin.close()


def produce(addr, topic, codec):
    producer = KafkaProducer(bootstrap_servers=addr, compression_type=None if codec == "none" else codec)
    sent = []
    for line in sys.stdin:
        time, key, value, *headers = line.rstrip("\n").split("\t")
        text = [b64decode(h) for h in headers]
        sent.append(producer.send(
            topic,
            key=b64decode(key),
            value=None if value == "-" else b64decode(value),
            headers=[(k.decode(), v) for k, v in zip(text[::2], text[1::2])],
            timestamp_ms=int(time)))
    producer.flush()
    for s in sent:
        s.get(timeout=30)
    producer.close()


def consume(addr, topic, group, members, n):
    left, lock, done, failed = int(n), threading.Lock(), threading.Event(), []

    def member(i):
        nonlocal left
        # A poll that ends while the group forms can lose the member's assignment until its session expires, on any broker.
        patience = 60_000
        consumer = KafkaConsumer(topic, bootstrap_servers=addr, group_id=group, auto_offset_reset="earliest")
        try:
            while not done.is_set():
                polled = consumer.poll(timeout_ms=patience)
                if polled:
                    patience = 100
                with lock:
                    for r in (r for rs in polled.values() for r in rs):
                        fields = [b64encode(r.key), b"-" if r.value is None else b64encode(r.value)]
                        for k, v in r.headers:
                            fields += [b64encode(k.encode()), b64encode(v)]
                        print(i, r.partition, r.offset, r.timestamp, *(f.decode() for f in fields), sep="\t")
                        left -= 1
                    if left <= 0:
                        done.set()
            consumer.commit()
        except BaseException as e:
            failed.append(e)
            done.set()
        finally:
            consumer.close()

    threads = [threading.Thread(target=member, args=(i,)) for i in range(int(members))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


{"create": create, "produce": produce, "consume": consume}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
