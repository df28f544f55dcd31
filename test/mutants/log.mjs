// Faults in the write model, the change log and what is read from it.

const UPLOADS = 'src/domain/files/put-documents.sql';
const SYNC = 'test/api/sync.spec.ts';
const FILES = 'test/api/files.spec.ts';
const RACES = 'test/invariants/write-races.spec.ts';
const QUERIES = 'src/domain/files/files.queries.ts';
const SHARED = 'test/invariants/shared-commits.spec.ts';
const PAGES = 'src/domain/sync/pages.service.ts';
const INTERLEAVINGS = 'test/invariants/interleavings.spec.ts';
const GROUPS = 'test/invariants/group-commit.spec.ts';

/** The head, read when the page has been read already. */
const SECOND_READ = {
  find: '/** Even an empty page is a row.',
  replace: `private async head(workspaceId: string): Promise<number> {
    const text = 'SELECT head_cursor AS "headCursor" FROM workspaces WHERE id = $1';
    const rows = await this.database.run<PageRow<string>>({ name: 'mutant.head', text }, [workspaceId]);
    return rows[0]?.headCursor ?? 0;
  }

  /** Even an empty page is a row.`,
};

export const LOG_MUTANTS = [
  {
    name: 'hash of any length',
    promise: 'The database itself refuses a malformed hash.',
    file: 'src/platform/database/migrations/1764400000004-storage.ts',
    find: 'length(sha256) = 64 AND ',
    replace: '',
    tests: [['test/invariants/hex-columns.spec.ts', 'by the database itself']],
  },
  {
    name: 'cursor from a sequence',
    promise: 'No change appears at or below a cursor that was returned.',
    file: QUERIES,
    find: ' FOR NO KEY UPDATE SKIP LOCKED\n',
    replace: '\n',
    also: [
      {
        file: UPLOADS,
        find: 'CREATE OR REPLACE FUNCTION {put_documents_of_many}(',
        replace:
          'CREATE SEQUENCE IF NOT EXISTS cursors;\nCREATE OR REPLACE FUNCTION {put_documents_of_many}(',
      },
      {
        file: UPLOADS,
        find: 'WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;',
        replace: 'WHERE w.id = p_workspace AND w.deleted_at IS NULL;',
      },
      {
        file: UPLOADS,
        find: 'change_cursor := log_heads[w] + 1;',
        // The pause stands for the disk: commits take as long as they take, in any order.
        replace: "change_cursor := nextval('cursors'); PERFORM pg_sleep(random() / 20);",
      },
      {
        file: UPLOADS,
        find: 'WHERE w.id = ANY (p_workspace) AND w.head_cursor <',
        replace: 'WHERE w.id = ANY (p_workspace) AND 0 <',
      },
      {
        file: 'src/domain/files/upload-lines.ts',
        find: 'const COMMIT_UPLOADS = 64;',
        replace: 'const COMMIT_UPLOADS = 1;',
      },
    ],
    tests: [['test/invariants/cursor-visibility.spec.ts', 'a follower on either instance']],
  },
  {
    name: 'upload without the lock of its log',
    promise: 'Uploads are serialised, and each is decided on committed data.',
    file: UPLOADS,
    find: 'WHERE w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE;',
    replace: 'WHERE w.id = p_workspace AND w.deleted_at IS NULL;',
    also: [{ file: QUERIES, find: ' FOR NO KEY UPDATE SKIP LOCKED\n', replace: '\n' }],
    faultIs500: true,
    tests: [[RACES, 'concurrent uploads']],
  },
  {
    name: 'deletion without the lock of its log',
    promise: 'A file is deleted once and logged once, however many requests delete it at the same time.',
    file: 'src/domain/files/files.queries.ts',
    find: 'FROM {workspaces} WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
    replace: 'FROM {workspaces} WHERE id = $1 AND deleted_at IS NULL',
    tests: [[INTERLEAVINGS, 'a deletion that waits for the log']],
  },
  {
    name: 'identical upload mints a version',
    promise: 'Uploading the live content again changes nothing.',
    file: UPLOADS,
    find: 'IF is_live AND u.head_hash = u.hash THEN',
    replace: 'IF false THEN',
    tests: [[FILES, 'PUT file']],
  },
  {
    name: 'deleted path is not revived by its own content',
    promise: 'Uploading the previous content to a deleted path makes the file live again, as a new version.',
    file: UPLOADS,
    find: 'IF is_live AND u.head_hash = u.hash THEN',
    replace: 'IF u.head_hash = u.hash THEN',
    tests: [[FILES, 'lists a revived file again|removes the file from every view|PUT file']],
  },
  {
    name: 'revived file is not counted',
    promise: 'The number of live files equals the number in the listing.',
    file: UPLOADS,
    find: 'added_files[w] := added_files[w] + (NOT is_live)::int;',
    replace: 'added_files[w] := added_files[w] + (head_id IS NULL)::int;',
    tests: [[SYNC, 'GET sync/status']],
  },
  {
    name: 'If-Match is not looked at',
    promise: 'A conditional upload applies only to the content that it names.',
    file: UPLOADS,
    find: 'ELSIF u.if_match IS NOT NULL',
    replace: 'ELSIF false',
    tests: [[FILES, 'a conditional upload']],
  },
  {
    name: 'pull reads its cursor in a second statement',
    promise: 'The cursor that a pull returns comes from the same snapshot as its rows.',
    file: PAGES,
    find: '"cursor":${last ?? cursor},"hasMore"',
    replace: '"cursor":${hasMore ? last : await this.head(workspace.id)},"hasMore"',
    also: [SECOND_READ],
    tests: [[INTERLEAVINGS, 'is found by the next pull']],
  },
  {
    name: 'hasMore off by one',
    promise: 'A page that contains everything has hasMore false.',
    file: 'src/domain/sync/sync.queries.ts',
    find: 'workspace_id = $1 AND cursor > page.last',
    replace: 'workspace_id = $1 AND cursor >= page.last',
    tests: [[SYNC, 'POST sync/pull']],
  },
  {
    name: 'last page of a snapshot names a next one',
    promise: 'The last page of a walk has a null nextPageCursor.',
    file: PAGES,
    find: 'const next = JSON.stringify(hasMore ? last : null);',
    replace: 'const next = JSON.stringify(last);',
    tests: [[SYNC, 'GET sync/snapshot']],
  },
  {
    name: 'snapshot page begins with the last of the one before',
    promise: 'A walk returns each file once.',
    file: 'src/domain/sync/sync.queries.ts',
    find: 'AND ${condition} AND id > $2',
    replace: 'AND ${condition} AND id >= $2',
    tests: [[SYNC, 'GET sync/snapshot']],
  },
  {
    name: 'snapshot reads its cursor after its files',
    promise: 'Walking the snapshot and pulling from its first cursor delivers every change.',
    file: PAGES,
    find: '"cursor":${headCursor},',
    replace: '"cursor":${headCursor && (await this.head(workspace.id))},',
    also: [SECOND_READ],
    tests: [[INTERLEAVINGS, 'is found by a pull from the cursor']],
  },
  {
    name: 'push takes a partly bad batch',
    promise: 'A push that contains anything but deletions is refused as a whole.',
    file: 'src/domain/sync/sync.dto.ts',
    find: 'rows.some(isOther)',
    replace: 'rows.every(isOther)',
    tests: [[SYNC, 'accepts delete rows only']],
  },
  {
    name: 'push deletes what another device has changed',
    promise: 'A change by another device since the base cursor is a conflict and is kept.',
    file: 'src/domain/sync/push.service.ts',
    find: "return since.byOthers ? 'conflict' : 'apply';",
    replace: "return 'apply';",
    tests: [[SYNC, 'conflicts']],
  },
  {
    name: 'push does not know its own retry',
    promise: 'A repeated push of applied deletions is accepted and writes nothing.',
    file: 'src/domain/sync/push.service.ts',
    find: 'since.ownDeletion !== null && (pushedHash',
    replace: 'since.ownDeletion === null && (pushedHash',
    tests: [[SYNC, 'a retry']],
  },
  {
    name: 'late repetition of a push deletes an own upload',
    promise: 'A repeated push does not delete what the device itself has uploaded since.',
    file: 'src/domain/sync/push.service.ts',
    find: 'since.deletedHashes.includes(pushedHash)',
    replace: 'since.deletedHashes.length < 0',
    tests: [[SYNC, 'a retry']],
  },
  {
    name: 'compaction floor off by one',
    promise: 'A cursor on the compaction floor is valid, and one below it is 409.',
    file: 'src/domain/sync/sync.dto.ts',
    find: 'cursor >= (log.compactionFloor ?? 0)',
    replace: 'cursor > (log.compactionFloor ?? -1)',
    tests: [[SYNC, 'is 409 below the compaction floor']],
  },
  {
    name: 'cursor within the gap of a restored backup is taken',
    promise: 'A cursor that this log never returned is 409.',
    file: 'src/domain/sync/sync.dto.ts',
    find: 'if (!known) throw mustBootstrap(log);',
    replace: 'if (!known && !log) throw mustBootstrap(log);',
    tests: [[SYNC, 'is 409 within the gap']],
  },
  {
    name: 'no gap after a restored backup',
    promise: 'No cursor stands for two changes, even after a backup was restored.',
    file: 'src/operations/backup/restores.ts',
    find: 'return LEAST + A_MINUTE * minutes;',
    replace: 'return 0 * (LEAST + A_MINUTE * minutes);',
    tests: [['test/process/backup.spec.ts', 'is restored into an empty database']],
  },
  {
    name: 'grouped upload is answered while it waits',
    promise: 'Nothing is acknowledged before its commit.',
    file: 'src/domain/files/upload-lines.ts',
    find: 'line.push(waiting);',
    replace:
      "line.push(waiting); waiting.resolve({ outcome: 'created', fileId: waiting.put.fileId, version: 1, cursor: null });",
    tests: [[GROUPS, 'a version each without']],
  },
  {
    name: 'refused upload fails those beside it',
    promise: 'An upload that the database refuses fails alone.',
    file: 'src/domain/files/group-commit-queue.ts',
    find: 'if (batch.length === 1 || !isOfOneRow(error))',
    replace: 'if (batch.length <= 64 || !isOfOneRow(error))',
    tests: [[GROUPS, 'fail alone when the database refuses']],
  },
  {
    name: 'failure of a commit is kept quiet',
    promise: 'An upload that was not committed is not acknowledged.',
    file: 'src/domain/files/group-commit-queue.ts',
    find: 'if (batch.length === 1 || !isOfOneRow(error)) return () => batch.forEach(({ reject }) => reject(error));',
    replace:
      "if (batch.length === 1 || !isOfOneRow(error)) return () => batch.forEach(({ put, resolve }) => resolve({ outcome: 'unchanged', fileId: put.fileId, version: 1, cursor: null }));",
    tests: [[GROUPS, 'fail alone when the database refuses']],
  },
  {
    name: 'bytes of a group are cut in the wrong place',
    promise: 'Each of the uploads that share a commit has its own bytes.',
    file: UPLOADS,
    find: 'substring(p_bytes FROM start FOR p_length[n])',
    replace: 'substring(p_bytes FROM 1 FOR p_length[n])',
    tests: [[GROUPS, 'share commits']],
  },
  {
    name: 'group lands in a deleted workspace',
    promise: 'No upload in flight adds a file to a deleted workspace.',
    file: UPLOADS,
    find: 'w.id = p_workspace AND w.deleted_at IS NULL FOR NO KEY UPDATE',
    replace: 'w.id = p_workspace AND (w.deleted_at IS NULL OR cardinality(p_path) > 1) FOR NO KEY UPDATE',
    tests: [
      [INTERLEAVINGS, 'writes nothing: together'],
      [GROUPS, 'as one by one'],
    ],
  },
  {
    name: 'group forgets If-Match',
    promise: 'Of many uploads with the same If-Match, exactly one wins.',
    file: UPLOADS,
    find: 'ELSIF u.if_match IS NOT NULL',
    replace: 'ELSIF u.if_match IS NOT NULL AND u.n = 1',
    tests: [[GROUPS, 'as one by one']],
  },
  {
    name: 'a tag that is not a hash is looked at',
    promise: 'An If-Match that names no content of the file overwrites nothing.',
    file: 'src/domain/files/file-headers.ts',
    find: "tag === '*' || CONTENT_HASH.test(tag)",
    replace: "tag === '*' || CONTENT_HASH.test(tag) || tag !== ''",
    tests: [[GROUPS, 'whatever stands in it']],
  },
  {
    name: 'a part of the list looks whole',
    promise: 'A list breaks off if its workspace is deleted meanwhile.',
    file: 'src/domain/files/files.service.ts',
    find: "if (rows.length === 0) throw new NotFound('workspace not found');",
    replace: '',
    tests: [[FILES, 'breaks off when the workspace is deleted']],
  },
  {
    name: 'group answers every upload with the same cursor',
    promise: 'Each upload of a commit is answered with the cursor of its own change.',
    file: UPLOADS,
    find: 'change_cursor := log_heads[w] + 1;\n      log_heads[w] := change_cursor;',
    replace: 'change_cursor := p_head[w] + 1;\n      log_heads[w] := log_heads[w] + 1;',
    tests: [[GROUPS, 'as one by one']],
  },
  {
    name: 'group logs its changes in reverse',
    promise: 'The log has the changes of a commit in the order of its uploads.',
    file: UPLOADS,
    find: "SELECT p_workspace[p_of[n]], cursor, file, p_path[n], 'upsert'",
    replace:
      "SELECT p_workspace[p_of[n]], log_heads[p_of[n]] + p_head[p_of[n]] + 1 - cursor, file, p_path[n], 'upsert'",
    tests: [[GROUPS, 'as one by one']],
  },
  {
    name: 'a shared commit waits for a locked workspace',
    promise: 'A workspace that is locked does not hold up uploads to others.',
    file: QUERIES,
    find: ' FOR NO KEY UPDATE SKIP LOCKED\n',
    replace: ' FOR NO KEY UPDATE\n',
    tests: [[SHARED, 'do not wait for a workspace that is locked']],
  },
  {
    name: 'no shared commit beside a slow one',
    promise: 'A commit that takes long does not hold up uploads to other workspaces.',
    file: 'src/domain/files/group-commit-queue.ts',
    find: 'if (this.lane === lane) this.lane = undefined;\n',
    replace: '',
    tests: [[SHARED, 'do not wait for a commit that takes long']],
  },
  {
    name: 'a shared commit fails whole',
    promise: 'An upload that the database refuses fails alone, also among uploads to other workspaces.',
    file: 'src/domain/files/group-commit-queue.ts',
    find: 'const left = isOfTheWorkspace(error) ? batch : [];',
    replace: 'const left: Waiting[] = [];',
    tests: [[SHARED, 'fail alone when the database refuses']],
  },
  {
    name: 'workspaces do not share commits',
    promise: 'Uploads to several workspaces that come while a commit is under way share the next one.',
    file: 'src/domain/files/upload-lines.ts',
    find: 'for (const line of inTurns(owners)) if (!line.giveTo(batch)) break;',
    replace: 'for (const line of lines.slice(0, 1)) while (line.hasNext && line.giveTo(batch));',
    tests: [[SHARED, 'share a commit']],
  },
  {
    name: 'group takes a swept blob for its own',
    promise: 'Every version has its bytes.',
    file: UPLOADS,
    find: 'IF NOT FOUND THEN\n          outcome :=',
    replace: 'IF n > 1 AND NOT FOUND THEN\n          outcome :=',
    tests: [[GROUPS, 'as one by one']],
  },
  {
    name: 'rolled back and called committed',
    promise: 'A COMMIT that did not commit is never reported as a success.',
    file: 'src/platform/database/database.ts',
    find: "if (tag !== 'COMMIT')",
    replace: "if (tag === '')",
    tests: [['test/invariants/transactions.spec.ts', 'a transaction']],
  },
  {
    name: 'work is done again after a COMMIT without an answer',
    promise: 'A write that may have been committed is not repeated.',
    file: 'src/platform/database/database.ts',
    find: 'throw isUnknown(error) ? new AmbiguousCommit(error) : error;',
    replace: 'throw error;',
    tests: [['test/invariants/transactions.spec.ts', 'is not run again']],
  },
];
