// Load review_grid.js into the frame of the grid. This is a classic script, because streamlit-aggrid accepts no modules.
//
// AG Grid needs its callbacks before the module is loaded. So the options of the grid name callbacks of `window.moot`,
// which call the module. Until it is loaded, cells are empty and the grid handles all keys.

// @ts-expect-error: window has no such property yet
window.moot = (() => {
  /** @type {any} */
  let module = null;
  const loaded = import(new URL("MODULE_ADDRESS", location.origin).href).then((found) => {
    module = found;
  });

  return {
    /**
     * A callback with a result, which is undefined until the module is loaded.
     *
     * @param {string} name
     * @param {...unknown} more
     */
    callback:
      (name, ...more) =>
      (/** @type {unknown} */ params) =>
        module?.[name](params, ...more),

    /**
     * A listener. It receives earlier events after the module is loaded.
     *
     * @param {string} name
     */
    listener: (name) => (/** @type {unknown} */ event) => {
      loaded.then(() => module[name](event));
    },

    /**
     * A component for cells or headers, drawn by a function of a node and parameters.
     *
     * @param {string} draw
     */
    renderer: (draw) =>
      class {
        init(/** @type {unknown} */ params) {
          this.node = document.createElement("span");
          this.refresh(params);
        }

        getGui() {
          return this.node;
        }

        refresh(/** @type {unknown} */ params) {
          module?.[draw](this.node, params);
          return true;
        }
      },
  };
})();
