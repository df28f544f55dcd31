import {
  naiveManifest,
  naiveNoteState,
  naiveSummary,
  type LoggedChange,
  type VersionIds,
} from '../naive-projections.js';
import { versionName } from './files.js';
import { type Answer, answered, OK, refused, type Rule } from './operations.js';
import { type Checkpoint, lastChange, type State, type Workspace, workspaceIn } from './state.js';
import { secondOf } from './words.js';

export const createCheckpoint: Rule<'create checkpoint'> = (state, operation, { now, born }) => {
  const { checkpoints, log } = workspaceIn(state, operation.workspace);
  const { name, label, mark: kind } = operation;
  if (!/^[\w+/=-]+$/.test(label) || !['manual', 'auto'].includes(kind)) return refused(400);
  const checkpoint = { name, born, cursor: log.length, label, kind, createdAt: now };
  checkpoints.push(checkpoint);
  return answered({ ...told(checkpoint), workspaceId: operation.workspace }, 201);
};

export const listCheckpoints: Rule<'list checkpoints'> = (state, { workspace }) =>
  answered({ checkpoints: inOrder(workspaceIn(state, workspace)).map(told) });

/** Removes the checkpoint alone. */
export const deleteCheckpoint: Rule<'delete checkpoint'> = (state, { workspace, checkpoint }) => {
  const { checkpoints } = workspaceIn(state, workspace);
  const index = checkpoints.findIndex(({ name }) => name === checkpoint);
  if (index < 0) return refused(404);
  checkpoints.splice(index, 1);
  return OK;
};

export const summary: Rule<'summary'> = (state, { from, ...operation }) =>
  projected(state, operation, (workspace, mark) => {
    const ordered = inOrder(workspace);
    const older = ordered[ordered.indexOf(mark) + 1]?.cursor ?? 0;
    if (from !== null && from > mark.cursor) return refused(400);
    return answered(byPath(naiveSummary(logged(workspace), from ?? older, mark.cursor)));
  });

export const manifest: Rule<'manifest'> = (state, operation) =>
  projected(state, operation, (workspace, { cursor }) =>
    answered(byPath(naiveManifest(logged(workspace), versionIds(workspace), cursor))),
  );

export const noteState: Rule<'note state'> = (state, { path, ...operation }) =>
  projected(state, operation, (workspace, { cursor }) =>
    answered(naiveNoteState(logged(workspace), versionIds(workspace), cursor, path)),
  );

/** The versions that checkpoints pin of a path. */
export function pinnedVersions(workspace: Workspace, path: string): Set<number> {
  const marked = workspace.checkpoints.map(({ cursor }) => lastChange(workspace, path, cursor));
  return new Set(marked.flatMap((change) => (change?.action === 'upsert' ? [change.version] : [])));
}

/** Sorts the entries of a projection, whose order is undefined. */
export function byPath<T extends { entries: { encryptedPath: string }[] }>(projection: T): T {
  const compare = (a: string, b: string): number => (a < b ? -1 : 1);
  const entries = projection.entries.toSorted((a, b) => compare(a.encryptedPath, b.encryptedPath));
  return { ...projection, entries };
}

function projected(
  state: State,
  asked: { workspace: string; checkpoint: string },
  project: (workspace: Workspace, mark: Checkpoint) => Answer,
): Answer {
  const workspace = workspaceIn(state, asked.workspace);
  const mark = workspace.checkpoints.find(({ name }) => name === asked.checkpoint);
  return mark ? project(workspace, mark) : refused(404);
}

/** The highest cursor first; of equal cursors the newest checkpoint. */
const inOrder = ({ checkpoints }: Workspace): Checkpoint[] =>
  checkpoints.toSorted((a, b) => b.cursor - a.cursor || b.createdAt - a.createdAt || b.born - a.born);

const told = ({ name, label, kind, cursor, createdAt }: Checkpoint): object => ({
  id: name,
  encryptedLabel: label,
  kind,
  cursor,
  createdAt: secondOf(createdAt),
});

const logged = ({ log }: Workspace): LoggedChange[] =>
  log.map(({ path, action, version }, index) => ({
    cursor: index + 1,
    encryptedPath: path,
    action,
    version,
  }));

/** Ids by the change that made the version, including thinned ones, which no projection may name. */
const versionIds = ({ name, log }: Workspace): VersionIds =>
  new Map(log.map(({ path, version }, index) => [index + 1, versionName(name, path, version)]));
