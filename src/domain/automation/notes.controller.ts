import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../../access/index.js';
import {
  arrayOf,
  BOOLEAN,
  COUNT,
  Documented,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  OK,
  ORDINAL,
  type Schema,
  SHA256_HEX,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { QUOTA_EXCEEDED } from '../files/index.js';
import { KEY_SESSION, NO_SESSION, OF_NOTE, TAG, WRITING } from './automation.docs.js';
import { plaintextSize, type Vault } from './contents.js';
import { CurrentVault, NeedsKeySession } from './key-sessions.controller.js';
import { sendNote } from './note-answer.js';
import { NoteBodies } from './note-bodies.js';
import {
  IfMatch,
  type ListedNote,
  type Note,
  NoteList,
  NotePath,
  notePath,
  Notes,
  type NotesQuery,
  RequestedNotes,
  WritingDevice,
} from './notes.service.js';
import type { SearchResult } from './search/search.service.js';

const listedNoteWire = ({ path, file }: ListedNote) => ({
  path,
  size: plaintextSize(file.encryptedSize),
  version: file.version,
  contentHash: file.contentHash,
  updatedAt: file.updatedAt,
});

type ListedNoteWire = ReturnType<typeof listedNoteWire>;

interface NotesPageWire {
  readonly notes: ListedNoteWire[];
  readonly nextPageCursor: string | null;
  readonly hasMore: boolean;
}

const NOTE_KEYS = { path: STRING, version: ORDINAL, contentHash: SHA256_HEX, updatedAt: INSTANT };

const NOTE = named('Note', objectOf<Note>(NOTE_KEYS));
const WITH_CONTENT = named('NoteWithContent', objectOf({ ...NOTE_KEYS, content: STRING }));
const LISTED = named(
  'ListedNote',
  objectOf<ListedNoteWire>({ ...NOTE_KEYS, path: nullable(STRING), size: COUNT }),
);

const ETAG = { ETag: 'The content hash, in quotes.' };
const BAD_PATH = 'the path is invalid';
const NO_TEXT = 'the content cannot be decrypted with this key, or is not text';
const CONTENT: Schema = {
  ...STRING,
  description: 'Text of at most 100 MiB, unless MAX_FILE_BYTES sets another limit.',
};

const PAGE = objectOf<NotesPageWire>({
  notes: arrayOf(LISTED),
  nextPageCursor: nullable(UUID),
  hasMore: BOOLEAN,
});

const noteBody = (properties: Readonly<Record<string, Schema>>) => ({
  type: 'application/json',
  schema: { type: 'object', properties, required: Object.keys(properties) },
});

export const NOTES_DOCS = {
  tag: TAG,
  operations: {
    list: {
      id: 'automation.listNotes',
      summary: 'List the notes in order of creation',
      description: 'With a prefix, a page can be short or even empty. Continue while `hasMore` is true.',
      headers: KEY_SESSION,
      query: {
        prefix: { description: 'Lists only paths that begin with this text.' },
        limit: { description: '1 to 1000; 100 if it is missing or not a number.' },
        pageCursor: { description: '`nextPageCursor` of the previous page.', schema: UUID },
      },
      answers: {
        200: json('a page; `path` is null if it cannot be decrypted with this key', PAGE),
        400: 'a query parameter is invalid',
        ...NO_SESSION,
      },
    },
    get: {
      id: 'automation.getNote',
      summary: 'Get a note',
      path: OF_NOTE,
      headers: KEY_SESSION,
      answers: {
        200: json('the note', WITH_CONTENT, ETAG),
        400: BAD_PATH,
        ...NO_SESSION,
        404: 'note not found',
        409: NO_TEXT,
      },
    },
    create: {
      id: 'automation.createNote',
      summary: 'Create a note',
      headers: WRITING,
      body: noteBody({ path: STRING, content: CONTENT }),
      answers: {
        201: json('the note', NOTE, ETAG),
        400: 'the path, content or X-Device-Id is invalid',
        ...NO_SESSION,
        409: 'a note with this path already exists',
        413: 'the content is too large',
        507: json('the quota of the account would be exceeded', QUOTA_EXCEEDED),
      },
    },
    update: {
      id: 'automation.updateNote',
      summary: 'Replace the content of a note',
      path: OF_NOTE,
      headers: {
        ...WRITING,
        'If-Match': { description: '`"<content hash>"`: writes only if this is the current content.' },
      },
      body: noteBody({ content: CONTENT }),
      answers: {
        200: json('the note', NOTE, ETAG),
        400: 'the path, content or a header is invalid',
        ...NO_SESSION,
        404: 'note not found',
        412: 'the note has changed',
        413: 'the content is too large',
        507: json('the quota of the account would be exceeded', QUOTA_EXCEEDED),
      },
    },
    delete: {
      id: 'automation.deleteNote',
      summary: 'Delete a note and keep its history',
      path: OF_NOTE,
      headers: WRITING,
      answers: {
        200: json('the note is deleted', OK),
        400: 'the path or X-Device-Id is invalid',
        ...NO_SESSION,
        404: 'note not found',
      },
    },
  },
} as const;

const FOUND = objectOf({
  results: arrayOf(
    objectOf<SearchResult>({ path: STRING, version: ORDINAL, score: { type: 'number' }, snippet: STRING }),
  ),
});

export const SEARCH_DOCS = {
  tag: TAG,
  operations: {
    search: {
      id: 'automation.searchNotes',
      summary: 'Search the notes',
      headers: KEY_SESSION,
      query: {
        q: {
          description: 'The words to find, 1 to 256 characters. A result contains all of them.',
          isRequired: true,
        },
        limit: { description: '1 to 100; 20 if it is missing or not a number.' },
      },
      answers: { 200: json('the results, best first', FOUND), 400: 'q is invalid', ...NO_SESSION },
    },
  },
} as const;

@Controller('api/v1/automation/workspaces/:id/notes')
@Documented(NOTES_DOCS)
@OwnedWorkspace()
@RequiresSubscription()
@NeedsKeySession()
export class NotesController {
  constructor(
    private readonly notes: Notes,
    private readonly noteList: NoteList,
    private readonly bodies: NoteBodies,
  ) {}

  @Get()
  @Scopes('documents:read')
  async list(@CurrentVault() vault: Vault, @RequestedNotes() query: NotesQuery): Promise<NotesPageWire> {
    const { notes, nextPageCursor } = await this.noteList.page(vault, query);
    return { notes: notes.map(listedNoteWire), nextPageCursor, hasMore: nextPageCursor !== null };
  }

  @Get('*')
  @Scopes('documents:read')
  async get(
    @CurrentVault() vault: Vault,
    @NotePath() path: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const note = await this.notes.read(vault, path);
    const { version, contentHash, updatedAt } = note;
    reply.header('etag', etagOf(note));
    sendNote(reply, { path, content: '', version, contentHash, updatedAt }, note);
  }

  @Post()
  @Scopes('documents:write')
  async create(
    @CurrentVault() vault: Vault,
    @WritingDevice() deviceId: string,
    @Req() { raw }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Note> {
    const note = await this.bodies.lend(raw, vault.userId, ({ members, content }) =>
      this.notes.create(vault, { path: pathIn(members), content, deviceId }),
    );
    reply.header('etag', etagOf(note));
    return note;
  }

  @Put('*')
  @Scopes('documents:write')
  async update(
    @CurrentVault() vault: Vault,
    @NotePath() path: string,
    @WritingDevice() deviceId: string,
    @IfMatch() ifMatch: readonly string[] | null,
    @Req() { raw }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Note> {
    const note = await this.bodies.lend(raw, vault.userId, ({ content }) =>
      this.notes.update(vault, { path, content, deviceId }, ifMatch),
    );
    reply.header('etag', etagOf(note));
    return note;
  }

  @Delete('*')
  @Scopes('documents:write')
  async delete(
    @CurrentVault() vault: Vault,
    @NotePath() path: string,
    @WritingDevice() deviceId: string,
  ): Promise<{ ok: true }> {
    await this.notes.delete(vault, path, deviceId);
    return { ok: true };
  }
}

const etagOf = ({ contentHash }: Note): string => `"${contentHash}"`;

function pathIn({ path }: Record<string, unknown>): string {
  if (typeof path !== 'string') throw new BadRequest('path must be a string');
  return notePath(path);
}
