import { pinnedVersions } from './checkpoints.js';
import { answered, type Rule } from './operations.js';
import { type File, living, type Version, type Workspace } from './state.js';
import { timeOf } from './words.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

/** Thins old versions, as of at most 48 hours after the last night. */
export const night: Rule<'night'> = (state, _, { now }) => {
  const { thinnedUntil } = state;
  const asOf = thinnedUntil === null ? now : Math.min(now, thinnedUntil + 48 * HOUR);
  for (const workspace of living(state))
    for (const file of workspace.files)
      file.versions = file.versions.filter((version) => isKept(workspace, file, version, asOf));
  state.thinnedUntil = asOf;
  return answered({});
};

/** Whether a version is the newest, pinned, young, or the newest of its hour, day or week. */
function isKept(workspace: Workspace, file: File, version: Version, asOf: number): boolean {
  if (version.version === file.version) return true;
  if (pinnedVersions(workspace, file.path).has(version.version)) return true;
  const bucketOf = bucketing(asOf - version.createdAt);
  if (!bucketOf) return true;
  return !file.versions.some(
    (other) => other.cursor > version.cursor && bucketOf(other.createdAt) === bucketOf(version.createdAt),
  );
}

function bucketing(age: number): ((at: number) => string) | undefined {
  if (age <= DAY) return undefined;
  if (age <= 7 * DAY) return (at) => timeOf(at).slice(0, 13);
  return age <= 30 * DAY ? (at) => timeOf(at).slice(0, 10) : mondayOf;
}

/** The Monday of the week, in UTC. */
function mondayOf(at: number): string {
  const daysSinceMonday = (new Date(at).getUTCDay() + 6) % 7;
  return timeOf(at - daysSinceMonday * DAY).slice(0, 10);
}
