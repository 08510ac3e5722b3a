(function_definition declarator: (_) @name) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @union
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition declarator: (_) @name) @type
(preproc_def name: (identifier) @name value: (_)) @macro
(preproc_function_def name: (identifier) @name) @macro
(declaration declarator: (function_declarator) @name) @declaration
(declaration declarator: (pointer_declarator declarator: (function_declarator)) @name) @declaration
(declaration declarator: [(identifier) (init_declarator) (pointer_declarator) (array_declarator)] @name) @variable
(field_declaration declarator: (_) @name @asked) @field
(enumerator name: (identifier) @name @asked) @constant
(preproc_def name: (identifier) @name @asked) @macro
