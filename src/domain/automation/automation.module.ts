import { Module } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { AuthModule } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { CheckpointsModule } from '../checkpoints/index.js';
import { FilesModule, VersionEntity } from '../files/index.js';
import { KeySlotsModule } from '../workspaces/key-slots/index.js';
import { SyncModule } from '../sync/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { Contents } from './contents.js';
import { NoteHeads } from './note-heads.js';
import { HistoryController } from './history.controller.js';
import { NoteHistory } from './history.service.js';
import { KeyCheck } from './key-check.js';
import { KeyDerivations } from './key-derivations.js';
import { KeySession } from './key-session.entity.js';
import { KeySessionsController } from './key-sessions.controller.js';
import { EndedKeySessions, KeySessions } from './key-sessions.service.js';
import { LargeNotes } from './large-notes.js';
import { Metadata } from './metadata.service.js';
import { NoteBodies } from './note-bodies.js';
import { NoteCheckpointsController } from './note-checkpoints.controller.js';
import { NoteCheckpoints } from './note-checkpoints.service.js';
import { NoteList } from './note-list.service.js';
import { NotesController } from './notes.controller.js';
import { Notes } from './notes.service.js';
import { PlaintextUrls } from './plaintext-urls.js';
import { IndexFeed } from './search/index-feed.js';
import { SearchIndexes } from './search/search-indexes.js';
import { SearchController } from './search/search.controller.js';
import { Search } from './search/search.service.js';
import { SlotKeys } from './slot-keys.js';

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
    Metadata,
    NoteBodies,
    NoteCheckpoints,
    NoteHistory,
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
