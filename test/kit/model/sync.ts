import { addDeletion } from './files.js';
import { answered, refused, type Rule } from './operations.js';
import { copyOf, liveFileAt, liveFiles, newest, type File, type Workspace, workspaceIn } from './state.js';
import { hashOf, sizeOf, timeOf } from './words.js';

export const status: Rule<'status'> = (state, operation) => {
  const workspace = workspaceIn(state, operation.workspace);
  return answered({ cursor: workspace.log.length, fileCount: liveFiles(workspace).length });
};

/** The changes above a cursor, as they are in the log. */
export const pull: Rule<'pull'> = (state, { workspace, cursor, limit }) => {
  const { log } = workspaceIn(state, workspace);
  if (!Number.isInteger(cursor) || cursor < 0) return refused(400);
  if (cursor > log.length) return refused(409, { needsBootstrap: true, compactionFloor: 0 });
  const page = log.slice(cursor, cursor + clamped(limit));
  const end = cursor + page.length;
  const changes = page.map(({ path, action, content, version, device, changedAt }) => ({
    encryptedPath: path,
    action,
    contentHash: hashOf(content),
    encryptedSize: sizeOf(content),
    version,
    changedAt: timeOf(changedAt),
    changedByDevice: device,
  }));
  return answered({ changes, cursor: end, hasMore: end < log.length });
};

/** A page of the live files, in the order of their ids. */
export const snapshot: Rule<'snapshot'> = (state, { workspace: name, limit, after }) => {
  const workspace = workspaceIn(state, name);
  const bornAfter = workspace.files.find(({ path }) => path === after)?.born ?? -1;
  const rest = liveFiles(workspace).filter(({ born }) => born > bornAfter);
  const page = rest.slice(0, clampedText(limit));
  const hasMore = page.length < rest.length;
  const files = page.map((file) => {
    const { content, version } = newest(file);
    return {
      id: `file ${name}/${file.path}`,
      encryptedPath: file.path,
      contentHash: hashOf(content),
      encryptedSize: sizeOf(content),
      version,
      createdAt: timeOf(file.createdAt),
      updatedAt: timeOf(file.updatedAt),
    };
  });
  const nextPageCursor = hasMore ? (files.at(-1)?.id ?? null) : null;
  return answered({ files, cursor: workspace.log.length, nextPageCursor, hasMore });
};

/** Accepts deletions only, each path once; the whole request or nothing. */
export const push: Rule<'push'> = (state, { workspace: name, device, base, rows, hasUpsert }, { now }) => {
  const workspace = workspaceIn(state, name);
  if (hasUpsert) return refused(400);
  if (base > workspace.log.length) return refused(409, { needsBootstrap: true, compactionFloor: 0 });
  const accepted: string[] = [];
  const conflicts: object[] = [];
  const before = copyOf(workspace);
  for (const [path, believed] of new Map(rows.map((row) => [row.path, row.content]))) {
    const file = liveFileAt(workspace, path);
    const verdict = file ? judge(before, file, { device, base, believed }) : 'landed';
    if (file && verdict === 'conflict') {
      const { version, content } = newest(file);
      conflicts.push({ encryptedPath: path, serverVersion: version, serverContentHash: hashOf(content) });
      continue;
    }
    accepted.push(path);
    if (file && verdict === 'apply') addDeletion(workspace, file, device, now);
  }
  return answered({ cursor: workspace.log.length, accepted, conflicts });
};

interface Deletion {
  readonly device: string;
  readonly base: number;
  readonly believed: string | null;
}

/** Whether a deletion of a live file has landed before, conflicts with a later change, or applies. */
function judge({ log }: Workspace, file: File, { device, base, believed }: Deletion): string {
  const since = log.slice(base).filter((change) => change.path === file.path);
  const own = since.filter((change) => change.device === device);
  const latest = own.at(-1);
  const isLatestWord = latest?.action === 'delete' && (believed === null || believed === latest.content);
  const isOfBefore =
    believed !== newest(file).content &&
    own.some(({ action, content }) => action === 'delete' && content === believed);
  if (isLatestWord || isOfBefore) return 'landed';
  return own.length < since.length ? 'conflict' : 'apply';
}

const clamped = (limit: number | null): number =>
  limit === null ? 100 : Math.min(Math.max(Math.floor(limit), 1), 1000);

/** Anything but a number counts as absent. */
function clampedText(text: string | null): number {
  const limit = text === null || text.trim() === '' ? NaN : Number(text);
  return clamped(Number.isFinite(limit) ? limit : null);
}
