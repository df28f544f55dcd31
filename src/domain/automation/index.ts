import { Module } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { AuthModule } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { CheckpointsModule } from '../checkpoints/index.js';
import { FilesModule, VersionEntity } from '../files/index.js';
import { SyncModule } from '../sync/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { KeySlotsModule } from '../workspaces/key-slots/index.js';
import { Contents, PlaintextUrls } from './contents.js';
import { HistoryController } from './history.controller.js';
import { KeyCheck } from './key-check.js';
import { KeySessionsController } from './key-sessions.controller.js';
import { EndedKeySessions, KeySession, KeySessions } from './key-sessions.service.js';
import { LargeNotes } from './large-notes.js';
import { NoteBodies } from './note-bodies.js';
import { NoteCheckpoints, NoteCheckpointsController } from './note-checkpoints.controller.js';
import { NoteHeads } from './note-heads.js';
import { NotesController } from './notes.controller.js';
import { NoteList, Notes } from './notes.service.js';
import { IndexFeed } from './search/index-feed.js';
import { SearchIndexes } from './search/search-indexes.js';
import { SearchController } from './search/search.controller.js';
import { Search } from './search/search.service.js';
import { KeyDerivations, SlotKeys } from './slot-keys.js';

@Module({
  imports: [
    AuthModule,
    BillingModule,
    CheckpointsModule,
    FilesModule,
    KeySlotsModule,
    SyncModule,
    WorkspacesModule,
    TypeOrmModule.forFeature([KeySession, VersionEntity]),
  ],
  controllers: [
    KeySessionsController,
    NotesController,
    SearchController,
    HistoryController,
    NoteCheckpointsController,
  ],
  providers: [
    Contents,
    EndedKeySessions,
    NoteHeads,
    IndexFeed,
    KeyCheck,
    KeyDerivations,
    KeySessions,
    LargeNotes,
    NoteBodies,
    NoteCheckpoints,
    NoteList,
    Notes,
    PlaintextUrls,
    Search,
    SearchIndexes,
    SlotKeys,
  ],
})
export class AutomationModule {
  constructor(purge: WorkspacePurge, @InjectRepository(KeySession) sessions: Repository<KeySession>) {
    // Where workspaces are on nodes, no foreign key deletes these rows.
    purge.addStep(async (workspaceId) => (await sessions.delete({ workspaceId })).affected ?? 0);
  }
}
