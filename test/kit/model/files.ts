import { answered, OK, refused, type Rule } from './operations.js';
import { fileAt, liveFileAt, liveFiles, newest, type File, type Workspace, workspaceIn } from './state.js';
import { hashOf, sizeOf, timeOf } from './words.js';

/** A new content for a path. An upload of the content of the live head counts as a repetition. */
export const put: Rule<'put'> = (state, upload, { now, born }) => {
  const workspace = workspaceIn(state, upload.workspace);
  if (upload.isMislabelled) return refused(400);
  const { path, content, device, ifMatch, ifAbsent } = upload;
  const live = liveFileAt(workspace, path);
  const head = live && newest(live);
  if (live && head?.content === content) return uploaded(workspace, live, 200);
  if (ifAbsent && head) return refused(412);
  if (ifMatch && !(head && (ifMatch.includes(head.content) || ifMatch.includes('*')))) return refused(412);

  const known = fileAt(workspace, path);
  const file: File = known ?? { ...NEW_FILE, path, born, createdAt: now, versions: [] };
  if (!known) workspace.files.push(file);
  addVersion(workspace, file, { content, device, now });
  return uploaded(workspace, file, known ? 200 : 201);
};

/** Keeps all versions. */
export const deleteFile: Rule<'delete'> = (state, { workspace: name, path, device }, { now }) => {
  const workspace = workspaceIn(state, name);
  const file = liveFileAt(workspace, path);
  if (!file) return refused(404);
  addDeletion(workspace, file, device, now);
  return OK;
};

export const getFile: Rule<'get'> = (state, { workspace, path }) => {
  const file = liveFileAt(workspaceIn(state, workspace), path);
  return file ? downloaded(newest(file).content) : refused(404);
};

export const listFiles: Rule<'list files'> = (state, { workspace: name }) => {
  const workspace = workspaceIn(state, name);
  const files = liveFiles(workspace).map((file) => {
    const { content, version } = newest(file);
    return {
      id: `file ${name}/${file.path}`,
      encrypted_path: file.path,
      content_hash: hashOf(content),
      encrypted_size: sizeOf(content),
      version,
      created_at: timeOf(file.createdAt),
      updated_at: timeOf(file.updatedAt),
    };
  });
  return answered({ files });
};

export const listVersions: Rule<'list versions'> = (state, { workspace, path }) => {
  const file = fileAt(workspaceIn(state, workspace), path);
  if (!file) return refused(404);
  const versions = file.versions.toReversed().map(({ version, content, device, cursor, createdAt }) => ({
    id: versionName(workspace, path, version),
    version,
    content_hash: hashOf(content),
    encrypted_size: sizeOf(content),
    device_id: device,
    created_at: timeOf(createdAt),
    changeCursor: cursor,
  }));
  return answered({ versions });
};

export const getVersion: Rule<'get version'> = (state, { workspace, path, version: number }) => {
  const versions = fileAt(workspaceIn(state, workspace), path)?.versions ?? [];
  const found = versions.find(({ version }) => version === number);
  return found ? downloaded(found.content) : refused(404);
};

/** Adds one version with the content of the old one, even of the newest; a deleted file becomes live. */
export const restore: Rule<'restore'> = (state, operation, { now }) => {
  const { workspace: name, path, of, version: number, device } = operation;
  const workspace = workspaceIn(state, name);
  const file = fileAt(workspace, path);
  const source = file?.versions.find(({ version }) => version === number);
  if (!file || !source || of !== path) return refused(404);
  addVersion(workspace, file, { content: source.content, device, now });
  const { version, content } = newest(file);
  return answered({
    id: `file ${name}/${path}`,
    version,
    contentHash: hashOf(content),
    encryptedSize: sizeOf(content),
  });
};

/** Logs a deletion, with the last content of the file. */
export function addDeletion(workspace: Workspace, file: File, device: string, now: number): void {
  const { content, version } = newest(file);
  workspace.log.push({ path: file.path, action: 'delete', content, version, device, changedAt: now });
  file.isDeleted = true;
  file.updatedAt = now;
}

export const versionName = (workspace: string, path: string, version: number): string =>
  `version ${workspace}/${path}#${version}`;

interface Made {
  readonly content: string;
  readonly device: string | null;
  readonly now: number;
}

/** Adds a version together with its change. */
function addVersion(workspace: Workspace, file: File, { content, device, now }: Made): void {
  const version = file.version + 1;
  const change = { path: file.path, action: 'upsert' as const, content, version, device, changedAt: now };
  const cursor = workspace.log.push(change);
  file.versions.push({ version, content, device, cursor, createdAt: now });
  file.version = version;
  file.isDeleted = false;
  file.updatedAt = now;
}

const uploaded = ({ name }: Workspace, file: File, status: number): ReturnType<typeof answered> => {
  const { content, version } = newest(file);
  const id = `file ${name}/${file.path}`;
  const [contentHash, encryptedSize] = [hashOf(content), sizeOf(content)];
  return answered(
    { id, workspaceId: name, encryptedPath: file.path, contentHash, encryptedSize, version },
    status,
  );
};

const downloaded = (content: string): ReturnType<typeof answered> =>
  answered({ content, etag: `"${hashOf(content)}"` });

const NEW_FILE = { updatedAt: 0, isDeleted: true, version: 0 };
