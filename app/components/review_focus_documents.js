// The documents that Focus has loaded, or is loading.

/** @import { ReviewClient } from "./review_client.js" */
/** @import { ReviewDocument } from "./review_panels.js" */

const MAX_DOCUMENTS = 100; // A reviewer who works for hours passes thousands.

/**
 * Return what a reviewer can change in a document, to compare two of its versions.
 *
 * @param {ReviewDocument} document
 */
function stateOf({ status, values, flagged, tags, comment, hidden }) {
  return JSON.stringify([status, values, flagged, tags, comment, hidden]);
}

/**
 * Documents by id, the last ones that were loaded; null if the run does not have the document.
 *
 * @extends {Map<string, Promise<ReviewDocument | null>>}
 */
export class ReviewDocuments extends Map {
  /** @param {Pick<ReviewClient, "query">} client */
  constructor(client) {
    super();
    this.client = client;
  }

  /** @param {string} id */
  load(id) {
    let request = this.get(id);
    if (!request) {
      request = this.client.query("document", { document: id }).then(({ document }) => document);
      this.set(id, request);
      const [first] = this.keys();
      if (this.size > MAX_DOCUMENTS) this.delete(first);
    }
    return request;
  }

  /**
   * Load a document again that the reviewer may have changed in another tab. Returns null if it is the same. The answer
   * is also dropped if the reviewer changes the document meanwhile, because it may be older than the change.
   *
   * @param {ReviewDocument} shown
   * @param {() => boolean} isWanted Returns true if the answer may still replace the document.
   */
  async loadChanged(shown, isWanted) {
    const before = stateOf(shown);
    this.clear();
    const document = await this.load(shown.id);
    const isKept = !isWanted() || stateOf(shown) !== before;
    if (document && !isKept && stateOf(document) !== before) return document;
    this.set(shown.id, Promise.resolve(shown));
    return null;
  }
}
