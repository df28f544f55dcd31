const encoder = new TextEncoder();

/** Longest path in a vault, in bytes of UTF-8: its encrypted form has 4,096 characters. */
export const MAX_VAULT_PATH_BYTES = 3_056;

/** Fast path: most names are ASCII and need no normalization. */
const PLAIN = /^[ -~]*$/;
/** Has an empty segment, `.` or `..`. */
const NO_NAME = /(?:^|\/)\.{0,2}(?:\/|$)/;

export const utf8Length = (text: string): number =>
  PLAIN.test(text) ? text.length : encoder.encode(text).length;

/** Why a vault cannot store a name of this disk; undefined when it can. */
export function vaultProblem(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'the name is not one of a file';
  if (/\p{Cc}/u.test(name)) return 'the name contains a control character: rename it';
  if (/\p{Cs}/u.test(name)) return 'the name is not well-formed Unicode: rename it';
  return undefined;
}

/** A name of this disk in the vault's form. */
export const vaultName = (name: string): string => (PLAIN.test(name) ? name : name.normalize('NFC'));

/** Returns why a path from another client is invalid below a folder; undefined when it is valid. */
export function pathProblem(path: string): string | undefined {
  if (PLAIN.test(path) && path.length <= MAX_VAULT_PATH_BYTES && !NO_NAME.test(path)) return undefined;
  if (path !== path.normalize('NFC')) return 'the path is not in the form that vaults use';
  if (utf8Length(path) > MAX_VAULT_PATH_BYTES)
    return 'the path is longer than a vault takes: shorten its names';
  for (const segment of path.split('/')) {
    const problem = vaultProblem(segment);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The naming rules of a disk. */
export interface Traits {
  /** `a` and `A` are the same file. */
  readonly foldsCase: boolean;
  /** Composed and decomposed letters are the same name. */
  readonly foldsUnicode: boolean;
  readonly nameUnit: 'bytes' | 'utf16';
  readonly maxName: number;
  /** bytes of a whole path below the folder */
  readonly maxPathBytes: number;
  /** The disk refuses the characters and endings that Windows refuses. */
  readonly windowsCharacters: boolean;
  /** The system treats names such as `con` as devices. */
  readonly windowsDevices: boolean;
}

export const lengthOn = (traits: Traits, name: string): number =>
  traits.nameUnit === 'bytes' ? utf8Length(name) : name.length;

/** Characters that some disks ignore when they compare names (HFS+, ext4 with casefold). */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu;

/** A common form of all spellings that any disk may treat as one name. May join names that a given disk keeps apart. */
export function foldedFully(name: string): string {
  const bare = name.normalize('NFD').replace(IGNORABLE, '');
  return bare.toLowerCase().toUpperCase().toLowerCase().normalize('NFC');
}

/** A common form of all spellings of a path that this disk treats as the same file. */
export function foldKey(traits: Traits, path: string): string {
  if (traits.foldsCase) return foldedFully(path);
  return traits.foldsUnicode ? path.normalize('NFC') : path;
}

const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i;

/** Why this disk cannot store a path of the vault; undefined when it can. */
export function diskProblem(traits: Traits, path: string): string | undefined {
  if (utf8Length(path) > traits.maxPathBytes)
    return 'the path is longer than this disk takes: shorten its names';
  for (const name of path.split('/')) {
    if (lengthOn(traits, name) > traits.maxName)
      return 'a name is longer than this disk takes: shorten it on another device';
    if (traits.windowsCharacters && (/[<>:"|?*\\]/.test(name) || /[. ]$/.test(name)))
      return 'a name has a character that this disk does not take: rename it on another device';
    if (traits.windowsDevices && DEVICE.test(name))
      return 'this system takes the name for a device: rename it on another device';
  }
  return undefined;
}
