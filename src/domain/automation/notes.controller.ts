import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../../access/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { CurrentVault, NeedsKeySession } from './key-session.guard.js';
import { sendNote } from './note-answer.js';
import { NoteBodies } from './note-bodies.js';
import { IfMatch, NoteList, type NotesQuery, RequestedNotes } from './note-list.service.js';
import { NotePath, notePath, WritingDevice } from './note-path.js';
import {
  listedNoteWire,
  type ListedNoteWire,
  NOTES_DOCS,
  noteWire,
  type NoteWire,
  readNoteWire,
} from './notes.docs.js';
import { type Note, Notes } from './notes.service.js';
import type { Vault } from './vault.js';

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
    sendNote(reply.header('etag', etagOf(note)), readNoteWire(note), note);
  }

  @Post()
  @Scopes('documents:write')
  async create(
    @CurrentVault() vault: Vault,
    @WritingDevice() deviceId: string,
    @Req() { raw }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NoteWire> {
    const note = await this.bodies.lend(raw, vault.userId, ({ members, content }) =>
      this.notes.create(vault, { path: pathIn(members), content, deviceId }),
    );
    reply.header('etag', etagOf(note));
    return noteWire(note);
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
  ): Promise<NoteWire> {
    const note = await this.bodies.lend(raw, vault.userId, ({ content }) =>
      this.notes.update(vault, { path, content, deviceId }, ifMatch),
    );
    reply.header('etag', etagOf(note));
    return noteWire(note);
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

interface NotesPageWire {
  notes: ListedNoteWire[];
  nextPageCursor: string | null;
  hasMore: boolean;
}

const etagOf = ({ contentHash }: Note): string => `"${contentHash}"`;

function pathIn({ path }: Record<string, unknown>): string {
  if (typeof path !== 'string') throw new BadRequest('path must be a string');
  return notePath(path);
}
