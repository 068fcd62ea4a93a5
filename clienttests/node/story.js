// The client story's steps with kafkajs; the line format is in record_test.go.
//
//   story.js ADDR create TOPIC PARTITIONS
//   story.js ADDR produce TOPIC CODEC            records on standard input
//   story.js ADDR consume TOPIC GROUP MEMBERS N  deliveries on standard output
const { CompressionTypes, Kafka, logLevel } = require('kafkajs')

const [addr, step, topic, ...args] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [addr], logLevel: logLevel.ERROR })
const decode = s => Buffer.from(s, 'base64')
const encode = b => Buffer.from(b).toString('base64')

async function create(partitions) {
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: Number(partitions), replicationFactor: 1 }] })
  await admin.disconnect()
}

async function produce(codec) {
  const messages = require('fs').readFileSync(0, 'utf8').trimEnd().split('\n').map(line => {
    const [timestamp, key, value, ...rest] = line.split('\t')
    const headers = {}
    for (let i = 0; i < rest.length; i += 2) headers[decode(rest[i]).toString()] = decode(rest[i + 1])
    return { timestamp, key: decode(key), value: value === '-' ? null : decode(value), headers }
  })
  const producer = kafka.producer()
  await producer.connect()
  for (let i = 0; i < messages.length; i += 1000) {
    await producer.send({ topic, compression: CompressionTypes[codec.toUpperCase()], messages: messages.slice(i, i + 1000) })
  }
  await producer.disconnect()
}

async function consume(group, members, n) {
  let left = Number(n)
  let finish
  const done = new Promise(resolve => { finish = resolve })
  const consumers = []
  for (let i = 0; i < Number(members); i++) {
    const consumer = kafka.consumer({ groupId: group })
    consumers.push(consumer)
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    consumer.on(consumer.events.CRASH, ({ payload }) => { console.error(payload.error); process.exit(1) })
    await consumer.run({
      eachMessage: async ({ partition, message: m }) => {
        const fields = [encode(m.key), m.value === null ? '-' : encode(m.value)]
        for (const [k, v] of Object.entries(m.headers ?? {})) fields.push(encode(k), encode(v))
        process.stdout.write([i, partition, m.offset, m.timestamp, ...fields].join('\t') + '\n')
        if (--left === 0) finish()
      },
    })
  }
  await done
  await Promise.all(consumers.map(c => c.disconnect())) // finishes the batch at hand and commits it
}

const steps = { create, produce, consume }
steps[step](...args).catch(err => { console.error(err); process.exit(1) })
