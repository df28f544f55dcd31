// Faults in blobs, assets and the quota.

const INTERLEAVINGS = 'test/invariants/interleavings.spec.ts';
const DATABASE_FAULTS = 'test/invariants/database-faults.spec.ts';
const SWEEP = 'test/invariants/blob-sweep.spec.ts';
const MOVE = 'test/invariants/blob-move.spec.ts';
const DOCTOR = 'test/invariants/blob-doctor.spec.ts';
const ASSET_RACES = 'test/invariants/asset-races.spec.ts';

const USAGE = 'test/api/usage.spec.ts';
const DOCUMENT_USAGE = 'test/invariants/document-usage.spec.ts';
const RESERVE = 'test/invariants/disk-reserve.spec.ts';

export const BYTES_MUTANTS = [
  {
    name: 'document quota of each workspace by itself',
    promise: 'All workspaces of an account share one quota.',
    file: 'src/domain/files/files.queries.ts',
    find: "ELSE ${heldByOwner(' AND o.id <> $1')} END",
    replace: 'ELSE 0 END',
    tests: [[USAGE, 'whatever workspace it goes to']],
  },
  {
    name: 'upload above the quota read first',
    promise: 'An upload that exceeds the quota is refused before its body is read.',
    file: 'src/domain/files/document-quota.ts',
    find: 'refuseAbove(size ?? 0);',
    replace: '',
    tests: [[USAGE, 'is refused before its body is read']],
  },
  {
    name: 'batch that is not held to the quota',
    promise: 'Each of the uploads that share a commit is checked against the quota.',
    file: 'src/domain/files/put-documents.sql',
    find: 'ELSIF p_held[w] + added_bytes[w] + u.size > p_quota THEN',
    replace: 'ELSIF p_held[w] + u.size > p_quota THEN',
    tests: [['test/invariants/group-commit.spec.ts', 'as one by one']],
  },
  {
    name: 'thinned bytes not given back',
    promise: 'What retention removes no longer counts towards the quota.',
    file: 'src/domain/files/files.queries.ts',
    find: 'document_bytes - (SELECT sum(size)::bigint FROM marked)',
    replace: 'document_bytes',
    tests: [[DOCUMENT_USAGE, 'gets back what retention thins out']],
  },
  {
    name: 'trash read through all files',
    promise: 'A page of the trash reads only the rows that it returns, however many live files there are.',
    file: 'src/domain/sync/sync.queries.ts',
    find: "filesPage('is_deleted', TRASHED_FILE)",
    replace: "filesPage('is_deleted IS NOT FALSE', TRASHED_FILE)",
    tests: [['test/api/trash.spec.ts', 'by its index alone']],
  },
  {
    name: 'reserve of the disk taken',
    promise: 'No upload is accepted while the disk has no more free space than its reserve.',
    file: 'src/platform/storage/free-space.ts',
    find: 'if (!this.hasRoom) throw this.refused();',
    replace: '',
    tests: [[RESERVE, 'takes no file, asset, note or checkpoint']],
  },
  {
    name: 'chunk let through while the disk is looked at',
    promise: 'Uploads in flight stop at the reserve of the disk, however many there are.',
    file: 'src/platform/storage/free-space.ts',
    find: 'if (!this.isFresh) await this.look();',
    replace: 'if (!this.isFresh) return void this.look();',
    tests: [[RESERVE, 'also when all of them send one at once']],
  },
  {
    name: 'checkpoints beside the reserve',
    promise: 'No upload is accepted while the disk has no more free space than its reserve.',
    file: 'src/domain/checkpoints/checkpoints.service.ts',
    find: 'this.space.during(() => this.database.workspaceTransaction(workspaceId, insert))',
    replace: 'this.database.workspaceTransaction(workspaceId, insert)',
    tests: [[RESERVE, 'takes no file, asset, note or checkpoint']],
  },
  {
    name: 'bytes that come in do not count on the disk',
    promise: 'Uploads in flight do not use the reserve of the disk.',
    file: 'src/platform/storage/free-space.ts',
    find: 'if (this.hasStore) this.underWay += arriving = bytes - inRows;',
    replace: '',
    tests: [[RESERVE, 'is kept under forty uploads']],
  },
  {
    name: 'silent uploads count on the disk',
    promise: 'An upload whose client is silent takes nothing of the reserve of the disk.',
    file: 'src/platform/storage/free-space.ts',
    find: 'this.underWay -= counted;\n        counted = 0;',
    replace: 'void counted;',
    tests: [[RESERVE, 'and not while the client is silent']],
  },
  {
    name: 'row first, bytes second',
    promise: 'No version is acknowledged before its bytes are durable.',
    file: 'src/platform/storage/blobs.ts',
    find: 'await main.put(blobKey(workspaceId, id), body);',
    replace: `const all: Buffer[] = [];
      for await (const chunk of body) all.push(chunk);
      const late = async function* () { yield* all; };
      setTimeout(() => void main.put(blobKey(workspaceId, id), late()).catch(() => undefined), 200);`,
    faultIs500: true,
    tests: [['test/api/files.spec.ts', 'with INLINE_BLOB_BYTES=0']],
  },
  {
    name: 'bytes that no row has announced',
    promise: 'The sweeper finds everything that a crash leaves in the store.',
    file: 'src/platform/storage/blobs.ts',
    find: 'await this.stageRow(workspaceId, id);',
    replace: '',
    also: [
      {
        find: 'await main.put(blobKey(workspaceId, id), body);',
        replace: `await main.put(blobKey(workspaceId, id), body);
      await this.stageRow(workspaceId, id);`,
      },
    ],
    tests: [['test/invariants/crash.spec.ts']],
  },
  {
    name: 'upload to the disk held whole',
    promise: 'Memory use does not grow with the size of a file on disk.',
    file: 'src/platform/storage/disk-blob-store.ts',
    find: 'await writeDurably(draft, chunks, await',
    replace: `const all: Buffer[] = [];
      for await (const chunk of chunks) all.push(chunk);
      await writeDurably(draft, all, await`,
    tests: [['test/invariants/memory.spec.ts']],
  },
  {
    name: 'upload to S3 held whole',
    promise: 'Memory use does not grow with the size of a file in S3.',
    file: 'src/platform/storage/s3/s3-blob-store.ts',
    find: 'await upload.send(chunks, this.partBytes);',
    replace: `const all: Buffer[] = [];
      for await (const chunk of chunks) all.push(chunk);
      const held = async function* () { yield* all; };
      await upload.send(held(), this.partBytes);`,
    tests: [['test/invariants/blob-memory.spec.ts']],
  },
  {
    name: 'bytes removed of whatever was not acknowledged',
    promise: 'An upload that may have been committed keeps its bytes.',
    file: 'src/platform/storage/blobs.ts',
    find: 'if (!(await this.markForDeletion(workspaceId, id, lease)) || !lease.holds()) return;',
    replace: '',
    faultIs500: true,
    tests: [[DATABASE_FAULTS, String.raw`at COMMIT \(.*\): 503`]],
  },
  {
    name: 'live blob marked for deletion by its own upload',
    promise: 'A committed blob stays live, whatever the upload returned.',
    file: 'src/platform/storage/blobs.queries.ts',
    find: 'WHERE b.size IS NULL\n       RETURNING id',
    replace: 'RETURNING id',
    faultIs500: true,
    tests: [[DATABASE_FAULTS, String.raw`at COMMIT \(.*\): 503`]],
  },
  {
    name: 'bytes of an upload that was taken for dead',
    promise: 'Unreferenced blobs are deleted, even if their workspace was deleted before.',
    file: 'src/platform/storage/blobs.queries.ts',
    find: 'NOT EXISTS (SELECT 1 FROM workspace) OR EXISTS',
    replace: 'EXISTS',
    tests: [['test/invariants/blob-sweep.spec.ts', 'that was taken for dead before']],
  },
  {
    name: 'answer begun before its first byte is there',
    promise: 'A blob that cannot be read is a 503, not an answer that breaks off.',
    file: 'src/platform/storage/blobs.ts',
    find: "await once(stream, 'readable');",
    replace: 'await Promise.resolve(once);',
    faultIs500: true,
    tests: [['test/contract/blobs/disk-store.spec.ts', 'does not give back']],
  },
  {
    name: 'hash of a body is not compared',
    promise: 'A body that does not match its hash is refused.',
    file: 'src/domain/files/files.service.ts',
    find: 'if (blob.sha256 !== upload.contentHash) {',
    replace: 'if (blob.sha256.length !== upload.contentHash.length) {',
    tests: [['test/api/files.spec.ts', 'with another hash is 400']],
  },
  {
    name: 'versions do not count as references to blobs',
    promise: 'A blob of a version is never swept.',
    file: 'src/platform/storage/blobs.queries.ts',
    find: "['versions', 'assets'] as const",
    replace: "['assets'] as const",
    tests: [['test/invariants/rows-check.spec.ts', 'are listed']],
  },
  {
    name: 'row of a workspace removed while a blob is staged',
    promise: 'No row of a purged workspace is left behind.',
    file: 'src/platform/storage/blobs.queries.ts',
    find: ' WHERE w.id = $1 FOR KEY SHARE',
    replace: ' WHERE w.id = $1',
    tests: [['test/invariants/staged-meanwhile.spec.ts', 'lets no blob be staged']],
  },
  {
    name: 'head without its blob',
    promise: 'A restored version is what a download returns.',
    file: 'src/domain/files/files.queries.ts',
    find: 'SET blob_id = source.blob_id, content_hash',
    replace: 'SET content_hash',
    tests: [['test/api/versions.spec.ts', 'restore']],
  },
  {
    name: 'sweeper claims without looking for references',
    promise: 'A referenced blob is never swept.',
    file: 'src/platform/storage/blobs.queries.ts',
    find: 'WHERE ${OF_IDS} AND ${UNREFERENCED}\n       RETURNING',
    replace: 'WHERE ${OF_IDS}\n       RETURNING',
    tests: [[SWEEP, 'what is referred to is never swept']],
  },
  {
    name: 'sweeper takes what another has claimed',
    promise: 'A blob is removed once, however many sweepers run.',
    file: 'src/platform/storage/blobs.queries.ts',
    find: '`(${alias}.claimed_until IS NULL OR ${alias}.claimed_until <= ${now})`',
    replace: '`(${alias}.claimed_until IS NULL OR ${now}::timestamptz IS NOT NULL)`',
    tests: [[SWEEP, 'also when one instance is slow']],
  },
  {
    name: 'sweeper does not wait for uploads under way',
    promise: 'An upload has half an hour before it is considered abandoned.',
    file: 'src/platform/storage/blob-sweeper.ts',
    find: 'export const STAGED_FOR_MS = 30 * 60_000;',
    replace: 'export const STAGED_FOR_MS = 20 * 60_000;',
    tests: [[SWEEP, 'is left alone for half an hour']],
  },
  {
    name: 'move takes the bytes of what was marked for deletion meanwhile',
    promise: 'A blob that is deleted during a move is not recreated by the move.',
    file: 'src/platform/storage/blob-mover.ts',
    find: ".update({ workspaceId, id, location, state: 'live' }, { location: to, bytes });",
    replace: '.update({ workspaceId, id }, { location: to, bytes });',
    tests: [[MOVE, 'deleted while it is copied']],
  },
  {
    name: 'move writes over what is whole at its target',
    promise: 'Complete bytes at the target of a move are never overwritten.',
    file: 'src/platform/storage/blob-mover.ts',
    find: 'if (found === row.size && (await hasWhole(store, row))) return true;',
    replace: '',
    tests: [[MOVE, 'was restored from before a move']],
  },
  {
    name: 'move deletes what it did not write',
    promise: 'A move that fails removes only its own copy.',
    file: 'src/platform/storage/orphaned-copies.ts',
    find: "if (written === 'nothing') {",
    replace: "if (written === 'nothing' && !copy) {",
    tests: [[MOVE, 'was restored from before a move']],
  },
  {
    name: 'last copy is swept',
    promise: 'A copy is swept only if the location in the row has the bytes.',
    file: 'src/platform/storage/orphaned-copies.ts',
    find: 'if (named === null) return true;',
    replace: 'if (named === null || size !== null) return true;',
    tests: [[DOCTOR, 'never swept while']],
  },
  {
    name: 'sweeper goes on after its claim',
    promise: 'A sweeper whose claim has expired removes nothing.',
    file: 'src/platform/storage/orphaned-copies.ts',
    find: '(await this.isSpare(copy)) && lease.holds();',
    replace: 'this.isSpare(copy);',
    faultIs500: true,
    tests: [[MOVE, 'stands still']],
  },
  {
    name: 'doctor deletes what a move has taken meanwhile',
    promise: 'The doctor removes no bytes that a move is using.',
    file: 'src/platform/storage/orphaned-copies.ts',
    find: 'if (await this.orphanedCopies.markForDeletion(orphan, now)) orphans.push(orphan);',
    replace: `{
        await (await this.stores.at(orphan.location)).delete(blobKey(orphan.workspaceId, orphan.id));
        orphans.push(orphan);
      }`,
    tests: [[DOCTOR, 'meanwhile']],
  },
  {
    name: 'doctor looks only where a row points',
    promise: 'Bytes that are complete in another store of the database are not reported as lost.',
    file: 'src/platform/storage/blob-store.ts',
    find: "if (await this.isDiskOurs()) await this.at('disk');",
    replace: '',
    tests: [[DOCTOR, 'on a disk without a row']],
  },
  {
    name: 'quota read, then written',
    promise: 'An upload never takes an account above its quota.',
    file: 'src/domain/assets/assets.queries.ts',
    find: 'AND NOT locked AND used_bytes + $2 <= addon_bytes + $3',
    replace:
      'AND NOT locked AND (SELECT a.used_bytes + $2 <= a.addon_bytes + $3 FROM storage_accounts a WHERE a.user_id = $1)',
    tests: [[ASSET_RACES, 'uploads to a quota']],
  },
  {
    name: 'asset deleted twice is given back twice',
    promise: 'Usage is the sum of what is stored.',
    file: 'src/domain/assets/assets.service.ts',
    find: 'this.remove(tx, workspaceId, await lockWorkspace(tx, workspaceId), tokens),',
    replace: `this.remove(tx, workspaceId, (await tx.manager.query('SELECT user_id FROM workspaces WHERE id = $1', [workspaceId]))[0].user_id, tokens),`,
    also: [
      {
        find: 'const removed = await tx.run<Removed>(assetStatements.remove, values);',
        replace: `const [read] = await tx.manager.query('SELECT coalesce(sum(size), 0) AS bytes FROM assets WHERE workspace_id = $1 AND token = ANY ($2::text[])', [workspaceId, tokens]);
    const removed = await tx.run<Removed>(assetStatements.remove, values);`,
      },
      {
        find: 'const bytes = removed.reduce((sum, { size }) => sum + size, 0);',
        replace: 'const bytes = Number(read.bytes);',
      },
    ],
    faultIs500: true,
    tests: [[ASSET_RACES, 'return each byte once']],
  },
  {
    name: 'idempotency key of every workspace',
    promise: 'An Idempotency-Key belongs to one workspace.',
    file: 'src/domain/assets/assets.queries.ts',
    find: 'WHERE workspace_id = $1 AND key = $3::text AND created_at > $4',
    replace: 'WHERE key = $3::text AND created_at > $4 LIMIT 1',
    tests: [['test/api/assets-idempotency.spec.ts']],
  },
  {
    name: 'idempotency key a moment too long',
    promise: 'A key is valid for 24 hours, excluding the last instant.',
    file: 'src/domain/assets/assets.queries.ts',
    find: 'AND key = $3::text AND created_at > $4',
    replace: 'AND key = $3::text AND created_at >= $4',
    tests: [['test/api/assets-idempotency.spec.ts']],
  },
  {
    name: 'repeated upload is a conflict with itself',
    promise: 'An upload that is repeated with its key gets the same answer as the first one.',
    file: 'src/domain/assets/asset-uploads.ts',
    find: "if (state?.tokenOfKey === token) return 'replay';",
    replace: '',
    tests: [['test/api/assets-idempotency.spec.ts']],
  },
  {
    name: 'asset lands in a deleted workspace',
    promise: 'No upload in flight recreates a deleted workspace.',
    file: 'src/domain/assets/asset-uploads.ts',
    find: '!workspace || workspace.isDeleted ||',
    replace: '!workspace ||',
    tests: [['test/api/assets-upload.spec.ts', 'when its workspace is deleted meanwhile']],
  },
  {
    name: 'file lands in a deleted workspace',
    promise: 'No upload in flight adds a file to a deleted workspace.',
    file: 'src/domain/files/put-documents.sql',
    find: 'WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;',
    replace: 'WHERE w.id = p_workspace FOR NO KEY UPDATE;',
    tests: [[INTERLEAVINGS, 'writes nothing: alone']],
  },
];
