import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule, UserEntity } from '../../auth/index.js';
import { DevicesModule } from '../../devices/index.js';
import { WorkspaceEntity, WorkspacesModule } from '../../workspaces/index.js';
import { AccountExport } from './account-export.js';
import { ExportController } from './export.controller.js';
import { ExportDownload } from './export-download.js';
import { ExportedContents } from './exported-contents.js';
import { ExportLists } from './export-lists.js';
import { WorkspaceExport } from './workspace-export.js';

/** The export of an account: everything that the service holds of it, as a tar. */
@Module({
  imports: [
    AuthModule,
    DevicesModule,
    WorkspacesModule,
    TypeOrmModule.forFeature([UserEntity, WorkspaceEntity]),
  ],
  controllers: [ExportController],
  providers: [AccountExport, ExportDownload, ExportedContents, ExportLists, WorkspaceExport],
  exports: [ExportDownload],
})
export class ExportModule {}
