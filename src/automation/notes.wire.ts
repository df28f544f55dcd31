import type { ListedNote } from './note-list.service.js';
import type { Note } from './notes.service.js';
import { plaintextSize } from './plaintext.js';

export interface NoteWire {
  path: string;
  version: number;
  /** SHA-256 of the ciphertext. */
  contentHash: string;
  updatedAt: string;
}

export interface ListedNoteWire {
  /** Null for a file whose path does not open with this key. */
  path: string | null;
  /** Bytes of plaintext. */
  size: number;
  version: number;
  contentHash: string;
  updatedAt: string;
}

export function noteWire({ path, version, contentHash, updatedAt }: Note): NoteWire {
  return { path, version, contentHash, updatedAt: updatedAt.toISOString() };
}

/** With a gap for the content. */
export function readNoteWire({ path, ...note }: Note): NoteWire & { content: '' } {
  const { version, contentHash, updatedAt } = noteWire({ path, ...note });
  return { path, content: '', version, contentHash, updatedAt };
}

export function listedNoteWire({ path, file }: ListedNote): ListedNoteWire {
  return {
    path,
    size: plaintextSize(file.encryptedSize),
    version: file.version,
    contentHash: file.contentHash,
    updatedAt: file.updatedAt.toISOString(),
  };
}
