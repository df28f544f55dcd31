import { BlobStores } from '../../src/platform/storage/blob-store.js';
import { BlobUpkeep } from '../../src/platform/storage/index.js';
import type { S3Limits } from '../../src/platform/storage/s3/s3-connection.js';
import type { S3BlobStore } from '../../src/platform/storage/s3/s3-blob-store.js';
import { type Fault, FaultProxy, type Weather } from './fault-proxy.js';
import { startService, type TestService, type TestWorkspace } from './index.js';
import { startS3 } from './s3.js';
import { TestBucket } from './stored-blobs.js';
import { useInTests } from './use-in-tests.js';

const MIB = 1024 * 1024;
const HOUR = 60 * 60_000;

/** Time limits in ms, shorter than those of the service, which are less than half a minute in all. */
const SHORT = { connectMs: 1_000, idleMs: 1_000, callMs: 3_000, cleanUpMs: 1_000, pauseMs: 5 };
const PATIENT = { connectMs: 10_000, idleMs: 20_000, callMs: 50_000, cleanUpMs: 1_000, pauseMs: 5 };
export const NO_ANSWER = 180_000;

/** An upload of one request, and one of two parts. */
export const SMALL = 100_000;
export const LARGE = 5 * MIB + 1000;

/** Faults that take a time limit stand together, because a few run at a time. */
export const FAULTS: [string, Fault][] = [
  ['delay', { kind: 'delay', ms: 30 }],
  ['reset', { kind: 'reset' }],
  ['500', { kind: 'answer', status: 500, code: 'InternalError' }],
  ['503', { kind: 'answer', status: 503, code: 'SlowDown' }],
  ['truncated request', { kind: 'truncate request' }],
  ['cut after the request was sent', { kind: 'cut after sending' }],
  ['truncated answer', { kind: 'truncate' }],
  ['half-closed answer', { kind: 'half-close' }],
  ['blackhole', { kind: 'blackhole' }],
  ['done late, never answered', { kind: 'late', ms: 500 }],
  ['answer that stops', { kind: 'stall' }],
  ['said to be done', { kind: 'swallow' }],
];

function later({ clock }: TestService): Date {
  return new Date(clock.now().getTime() + 2 * HOUR);
}

/** Call outside of all tests. A service whose requests to S3 go through a proxy that can fail. */
export function useFaultyStore(): FaultyStore {
  return useInTests(new FaultyStore());
}

export class FaultyStore {
  service!: TestService;
  proxy!: FaultProxy;
  bucket!: TestBucket;
  notes!: TestWorkspace;
  limits!: S3Limits;
  names = 0;

  readonly open = async () => {
    const s3 = await startS3();
    this.proxy = await FaultProxy.before(s3.endpoint);
    this.bucket = new TestBucket(s3, s3.bucketName());
    this.service = await startService({ env: s3.env(this.bucket.name, this.proxy.url) });
    this.limits = (this.service.app.get(BlobStores).main as S3BlobStore).connection.limits;
    this.notes = await (await this.service.user('alice')).workspace();
  };

  readonly close = async () => {
    await this.service.close();
    await this.proxy.close();
  };

  readonly endTest = () => this.heal();

  readonly trouble = (weather: Weather, patience = 1): void => {
    const { connectMs, idleMs, callMs } = SHORT;
    const longer = { connectMs: patience * connectMs, idleMs: patience * idleMs, callMs: patience * callMs };
    Object.assign(this.limits, SHORT, longer);
    this.proxy.set(weather);
  };

  readonly heal = (): void => {
    Object.assign(this.limits, PATIENT);
    this.proxy.heal();
  };

  readonly newPath = (): string => `p${`${++this.names}`.padStart(7, '0')}`;

  readonly settled = async (): Promise<void> => {
    this.heal();
    await this.proxy.idle();
    await this.service.app.get(BlobUpkeep).sweep(later(this.service));
  };
}
