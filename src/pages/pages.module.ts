import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { Attempts } from './attempts.js';
import { EarlyRefusals } from './early-refusals.js';
import { HomeController } from './home.controller.js';
import { PageAssetsController } from './page-assets.controller.js';
import { Visits } from './visits.js';

/** What all pages for browsers share. */
@Module({
  imports: [AuthModule],
  controllers: [HomeController, PageAssetsController],
  providers: [Attempts, EarlyRefusals, Visits],
  exports: [Attempts, Visits],
})
export class PagesModule {}
