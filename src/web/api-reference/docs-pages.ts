import { Injectable } from '@nestjs/common';
import { Configuration } from '../../platform/config/index.js';
import { pageText } from '../layout/index.js';
import { ApiDocuments, type Served, served } from './api-documents.js';
import { docsGroup, docsSchemas } from './docs-group.js';
import { docsIndex } from './docs-index.js';
import { groupsOf } from './groups.js';

/** The address of the index among the pages. */
export const INDEX = '';

/** The API document as pages: an index, one page for each group, and the schemas. Built when first requested and cached. */
@Injectable()
export class DocsPages {
  private built: Promise<ReadonlyMap<string, Served>> | undefined;

  constructor(
    private readonly documents: ApiDocuments,
    private readonly configuration: Configuration,
  ) {}

  /** @param slug that of a group, `schemas`, or INDEX. @returns undefined when there is no such page */
  async page(slug: string): Promise<Served | undefined> {
    this.built ??= this.build();
    return (await this.built).get(slug);
  }

  private async build(): Promise<ReadonlyMap<string, Served>> {
    const document = await this.documents.document();
    const groups = groupsOf(document);
    const props = { host: this.configuration.publicHost, document, groups };
    return new Map([
      [INDEX, served(pageText(docsIndex(props)))],
      ['schemas', served(pageText(docsSchemas(props)))],
      ...groups.map((group) => [group.slug, served(pageText(docsGroup({ ...props, group })))] as const),
    ]);
  }
}
