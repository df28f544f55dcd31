import { randomBytes } from 'node:crypto';
import { BlobUpkeep } from '../../../src/platform/storage/index.js';
import { startService } from '../../kit/index.js';
import { describeWithTestServers, startOwnS3 } from '../../kit/s3.js';
import { expectNothingLostOrLeft, TestBucket } from '../../kit/stored-blobs.js';

const MIB = 1024 * 1024;
const HOUR = 60 * 60_000;

describeWithTestServers('an S3 server that is killed', () => {
  it('makes requests fail with 503 until it is back, and loses no acknowledged write', async () => {
    const s3 = await startOwnS3();
    const bucket = new TestBucket(s3, s3.bucketName());
    const service = await startService({ env: s3.env(bucket.name) });
    const notes = await (await service.user('alice')).workspace();
    const body = randomBytes(6 * MIB);
    await notes.put('YQ', body).expect(201);

    await s3.killGateway();
    for (const request of [notes.put('Yg', randomBytes(100_000)), notes.get('YQ')])
      expect((await request.expect(503)).headers['retry-after']).toBeDefined();

    await s3.restartGateway();
    const { body: came } = await notes.get('YQ').expect(200);
    expect(body.equals(came as Buffer)).toBe(true);
    await notes.put('Yg', randomBytes(100_000)).expect(201);
    await service.app.get(BlobUpkeep).sweep(new Date(service.clock.now().getTime() + 2 * HOUR));
    expect(await expectNothingLostOrLeft(service.database, bucket)).toBe(2);
    await service.close();
    await s3.stop();
  });
});
