import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';

/** A DNS server for A and AAAA. */
export interface NameServer {
  /** Value for `dnsServers`. */
  readonly address: string;
  /** Every question so far, such as `A push.example.org`. */
  readonly asked: string[];
  /** Sets the addresses of a name. Several lists are answered in order, the last one forever. */
  point(name: string, ...answers: string[][]): void;
  /** Leaves questions for the name unanswered. */
  silence(name: string): void;
  close(): Promise<void>;
}

const TYPES = { 1: 'A', 28: 'AAAA' } as const;
const NO_SUCH_NAME = 0x8183;
const ANSWER = 0x8180;

export async function startNameServer(): Promise<NameServer> {
  const names = new Map<string, { A: string[][]; AAAA: string[][] }>();
  const silent = new Set<string>();
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, client) => {
    const { name, type, end } = question(query);
    asked.push(`${type} ${name}`);
    if (silent.has(name)) return;
    const known = names.get(name);
    const answers = known?.[type];
    const addresses = (answers && answers.length > 1 ? answers.shift() : answers?.[0]) ?? [];
    socket.send(
      answerTo(query.subarray(0, end), known ? ANSWER : NO_SUCH_NAME, addresses),
      client.port,
      client.address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    point: (name, ...answers) => {
      const ofKind = (kind: string): string[][] =>
        answers.map((list) => list.filter((address) => ipaddr.parse(address).kind() === kind));
      names.set(name, { A: ofKind('ipv4'), AAAA: ofKind('ipv6') });
    },
    silence: (name) => void silent.add(name),
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function question(query: Buffer): { name: string; type: 'A' | 'AAAA'; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length));
    at += length + 1;
  }
  const type = TYPES[query.readUInt16BE(at + 1) as keyof typeof TYPES];
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 };
}

/** The question, followed by the addresses with a TTL of 0. */
function answerTo(asked: Buffer, flags: number, addresses: string[]): Buffer {
  const header = Buffer.from(asked);
  header.writeUInt16BE(flags, 2);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt32BE(0, 8); // neither authority nor additional records
  const records = addresses.map((address) => {
    const data = Buffer.from(ipaddr.parse(address).toByteArray());
    const head = Buffer.from([0xc0, 12, 0, data.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length]);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([header, ...records]);
}
