import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule, UserEntity } from '../../auth/index.js';
import { DevicesModule } from '../../devices/index.js';
import { WorkspaceEntity, WorkspacesModule } from '../../workspaces/index.js';
import { AccountExport, ExportedContents, WorkspaceExport } from './account-export.js';
import { ExportLists } from './export-lists.js';
import { ExportController, ExportDownload } from './export.controller.js';

export { ExportDownload } from './export.controller.js';

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
