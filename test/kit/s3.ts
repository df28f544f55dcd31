import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export { describeWithTestServers } from './test-servers.js';

const { broker } = JSON.parse(process.env.TEST_SERVERS ?? '{}') as { readonly broker?: string };

/** A real S3 server. Buckets are never removed: the server keeps them in memory. */
export interface TestS3 {
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
  /** The name of an unused bucket, which is not created. */
  bucketName(): string;
  /** The settings of a service that uses this server. @param endpoint another address of it */
  env(bucket: string, endpoint?: string): Record<string, string>;
}

/** A server that is not shared with other test files, and may be broken. */
export interface OwnTestS3 extends TestS3 {
  /** Kills the gateway, like a crash: connections are reset, new ones refused. */
  killGateway(): Promise<void>;
  /** Restarts the gateway, with all stored data. */
  restartGateway(): Promise<void>;
  stop(): Promise<void>;
}

/** The shared server of this run: started on first use, in 2 s, and stopped after the run. */
export async function startS3(): Promise<TestS3> {
  const { socket, address } = await ask('shared');
  socket.destroy();
  return withNames(address);
}

/** A separate server. Ends with this process at the latest. */
export async function startOwnS3(): Promise<OwnTestS3> {
  const { socket, address } = await ask('own');
  const tell = async (command: string): Promise<void> => {
    socket.write(`${command}\n`);
    await once(socket, 'data');
  };
  return {
    ...withNames(address),
    killGateway: () => tell('kill'),
    restartGateway: () => tell('start'),
    stop: async () => {
      socket.end();
      socket.resume();
      await once(socket, 'close');
    },
  };
}

type Address = Pick<TestS3, 'endpoint' | 'accessKey' | 'secretKey'>;

async function ask(wish: 'shared' | 'own'): Promise<{ socket: Socket; address: Address }> {
  if (!broker) throw new Error('there is no broker: global-setup has not run');
  const socket = connect(broker);
  socket.write(`${wish}\n`);
  const [line] = (await once(socket, 'data')) as [Buffer];
  const { error, ...address } = JSON.parse(String(line)) as Address & { error?: string };
  if (error) throw new Error(`the S3 server: ${error}`);
  return { socket, address };
}

function withNames(address: Address): TestS3 {
  const region = 'us-east-1';
  return {
    ...address,
    region,
    bucketName: () => `test-${randomBytes(6).toString('hex')}`,
    env: (bucket, endpoint = address.endpoint) => ({
      S3_ENDPOINT: endpoint,
      S3_ACCESS_KEY: address.accessKey,
      S3_SECRET_KEY: address.secretKey,
      S3_BUCKET: bucket,
      S3_REGION: region,
    }),
  };
}
