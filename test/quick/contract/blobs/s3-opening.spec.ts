import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { Client } from 'minio';
import { OperatorError } from '../../../../src/platform/config/index.js';
import { openS3Store } from '../../../../src/platform/storage/s3/open-s3-store.js';
import { Database } from '../../../../src/platform/database/index.js';
import { FaultProxy } from '../../../kit/fault-proxy.js';
import { startService, type TestService } from '../../../kit/index.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../../kit/s3.js';
import { chunksOf, clientOf, MIB, newKey } from '../../../kit/blob-stores.js';

describeWithTestServers('opening an S3 store', () => {
  let s3: TestS3;
  let client: Client;
  let service: TestService;
  let bucket: string;
  beforeAll(async () => {
    s3 = await startS3();
    client = clientOf(s3);
    service = await startService();
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    bucket = s3.bucketName();
    await service.database.query(`DELETE FROM blob_stores WHERE location = 's3'`);
    await service.database.query('DELETE FROM blob_leftovers');
  });

  const open = async (changed: Partial<Parameters<typeof openS3Store>[0]> = {}): Promise<void> => {
    const store = await openS3Store({ ...s3, bucket, ...changed }, service.app.get(Database), MIB);
    store.close();
  };
  const idIn = async (name: string): Promise<string> => text(await client.getObject(name, 'store-id'));
  const registered = (): Promise<{ id: string }[]> =>
    service.database.query(`SELECT id FROM blob_stores WHERE location = 's3'`);
  /** Makes the database know of a blob in the store. */
  const haveBlob = (): Promise<unknown> =>
    service.database.query(
      `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before)
       VALUES ('s3', $1, $1, 'dying', now())`,
      [randomUUID()],
    );

  it('creates the bucket, and gives bucket and database the same id', async () => {
    await open();
    expect(await registered()).toEqual([{ id: await idIn(bucket) }]);
    await haveBlob();
    await open();
    expect(await registered()).toEqual([{ id: await idIn(bucket) }]);
  });

  it('accepts an existing bucket that is empty', async () => {
    await client.makeBucket(bucket);
    await open();
    expect(await registered()).toEqual([{ id: await idIn(bucket) }]);
  });

  it('leads to one id when instances start at once', async () => {
    await Promise.all([open(), open(), open(), open()]);
    expect(await registered()).toEqual([{ id: await idIn(bucket) }]);
  });

  it('completes a start that died between database and bucket', async () => {
    const id = randomUUID();
    await service.database.query(`INSERT INTO blob_stores (location, id) VALUES ('s3', $1)`, [id]);
    await open();
    expect(await idIn(bucket)).toBe(id);
  });

  it('refuses the bucket of another database, including when both are new to this one', async () => {
    await client.makeBucket(bucket);
    await client.putObject(bucket, 'store-id', randomUUID());
    for (const known of [false, true]) {
      if (known) await service.database.query(`INSERT INTO blob_stores VALUES ('s3', $1)`, [randomUUID()]);
      await expect(open()).rejects.toThrow(
        new OperatorError(
          `The bucket ${bucket} belongs to another database; set S3_BUCKET to a bucket of its own.`,
        ),
      );
    }
  });

  it('refuses another bucket than the one with its blobs, and creates none', async () => {
    await open();
    await haveBlob();
    const [other, empty] = [s3.bucketName(), s3.bucketName()];
    await client.makeBucket(empty);
    for (const name of [other, empty])
      await expect(open({ bucket: name })).rejects.toThrow(
        /^The bucket \S+ is not the one with this database's blobs/,
      );
    expect(await client.bucketExists(other)).toBe(false);
    await open();
  });

  it.each([
    ['a wrong access key', () => ({ accessKey: 'nobody' }), 'does not know this S3_ACCESS_KEY; check it'],
    ['a wrong secret key', () => ({ secretKey: 'wrong-secret-key' }), 'refuses this S3_SECRET_KEY; check it'],
    [
      'a port where nothing listens',
      () => ({ endpoint: 'http://127.0.0.1:1' }),
      'does not answer (ECONNREFUSED); check that it runs',
    ],
    ['an unknown host', () => ({ endpoint: 'http://s3.invalid' }), 'does not answer (E'],
    ['a server without S3', () => ({ endpoint: service.url }), 'refuses requests (HTTP 404); check the S3'],
  ])('reports %s in one sentence with its cure', async (_, changed, sentence) => {
    const error = await open(changed()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OperatorError);
    const { message } = error as Error;
    expect(message).toMatch(/^The S3 store at \S+ .*[^.]\.$/);
    expect(message).toContain(sentence);
    for (const secret of [s3.secretKey, s3.accessKey, 'wrong-secret-key'])
      expect(message).not.toContain(secret);
    expect(await registered()).toEqual([]);
  });

  it.each([
    ['AccessDenied', 403, 'does not allow this S3_ACCESS_KEY to use the bucket'],
    ['BucketAlreadyExists', 409, 'that belongs to somebody else; set S3_BUCKET to another name'],
    ['AuthorizationHeaderMalformed', 400, 'expects another region; check S3_REGION'],
    ['InternalError', 500, 'does not answer (InternalError)'],
  ])('reports the answer %s of the server with its cure', async (code, status, sentence) => {
    const proxy = await FaultProxy.before(s3.endpoint);
    proxy.set(({ method }) => (method === 'PUT' ? { kind: 'answer', status, code } : undefined));
    const refusal = open({ endpoint: proxy.url });
    await expect(refusal).rejects.toBeInstanceOf(OperatorError);
    await expect(refusal).rejects.toThrow(status === 500 ? 'does not answer' : sentence);
    await proxy.close();
  });

  it('accepts a store whose ETags are not MD5', async () => {
    const proxy = await FaultProxy.before(s3.endpoint);
    proxy.set(({ method }) =>
      method === 'PUT' ? { kind: 'lie', headers: { etag: '"none-of-it"' } } : undefined,
    );
    const store = await openS3Store({ ...s3, bucket, endpoint: proxy.url }, service.app.get(Database), MIB);
    await store.put(newKey(), chunksOf(Buffer.from('another store, another tag')));
    store.close();
    await proxy.close();
  });
});
